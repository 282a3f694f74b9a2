internal import TransferClient
internal import TransferModel

/// The object that `--json` prints for a command that failed or did not finish, so that programs that read only objects
/// learn the reason.
enum FailureDocument {
    static func json(_ failure: TransferFailure) -> JSONLine {
        [
            "schema": .string(JSONSchema.failure), "reason": .string(failure.reason.name),
            "result": failure.reason.code.map { .string($0.description) } ?? .null,
            "message": .string(failure.message), "exitCode": .integer(UInt64(failure.reason.exitCode.rawValue)),
        ]
    }
}

extension TransferFailure.Reason {
    /// The value of `reason`. It must not change, because programs read it.
    fileprivate var name: String {
        switch self {
        case .unreachable: "unreachable"
        case .refused: "refused"
        case .protocolFault: "protocolFault"
        case .cancelled: "cancelled"
        case .unsupported: "unsupported"
        case .untrusted: "untrusted"
        case .rejected: "rejected"
        }
    }

    fileprivate var code: ResultCode? { if case .rejected(let code) = self { code } else { nil } }
}
