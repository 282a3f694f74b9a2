internal import TransferClient
internal import TransferModel

/// The object of `--json` for a command that could not do its work, or not to the end: whoever reads objects only learns why.
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
    /// Stays as it is: programs read it.
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
