internal import TransferClient
private import TransferModel

/// The exit codes of the program. Scripts rely on the numbers, so their meaning never changes.
enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case uploadsFailed = 1
    case usage = 2
    case unreachable = 3
    case accessRefused = 4
    case fault = 5
    case unacknowledged = 6
    case undelivered = 7

    /// The meaning for the help, in one line.
    var meaning: String {
        switch self {
        case .success: "all uploads are stored, or the command succeeded"
        case .uploadsFailed: "some uploads failed"
        case .usage: "error in the command line or the configuration"
        case .unreachable: "could not connect to the server"
        case .accessRefused: "the server refused access or is not trusted"
        case .fault: "protocol or server fault"
        case .unacknowledged: "everything was sent, but nothing acknowledged, as with --classic"
        case .undelivered: "everything was sent, but not all delivered within --wait-delivered"
        }
    }
}

extension TransferFailure.Reason {
    /// The exit code of a command that failed for this reason.
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
