internal import TransferClient
private import TransferModel

/// What the program exits with. Scripts rely on the numbers: they never change their meaning.
enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case uploadsFailed = 1
    case usage = 2
    case unreachable = 3
    case accessRefused = 4
    case fault = 5
    case unacknowledged = 6
    case undelivered = 7

    /// One line for the help.
    var meaning: String {
        switch self {
        case .success: "everything was committed, or the command did what it was asked to"
        case .uploadsFailed: "some uploads failed"
        case .usage: "the command line or the configuration was wrong"
        case .unreachable: "could not connect to the server"
        case .accessRefused: "the server refused access, or is not one that is trusted"
        case .fault: "protocol or server fault"
        case .unacknowledged: "all was sent, and nothing acknowledged, as with --classic"
        case .undelivered: "all was sent, and not all delivered in the time of --wait-delivered"
        }
    }
}

extension TransferFailure.Reason {
    /// What a command exits with that could not do its work for this reason.
    var exitCode: ExitCode {
        switch self {
        case .unreachable: .unreachable
        case .refused, .untrusted: .accessRefused
        case .protocolFault, .unsupported: .fault
        case .cancelled: .uploadsFailed
        case .rejected(let code): ExitCode(rawValue: code.exitCode) ?? .uploadsFailed
        }
    }
}
