internal import TransferClient
private import TransferModel

extension PushFailure.Reason {
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
