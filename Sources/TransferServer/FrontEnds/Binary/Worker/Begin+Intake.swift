import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore

extension UploadIntent {
    /// What a `begin` declares, with the server's ids.
    init(_ begin: Begin, of caller: Caller) {
        let extent: Extent =
            switch begin.scope {
            case .whole: .whole
            case .part(let part):
                .part(UploadPart(of: caller.inner(part.upload), offset: part.offset, total: part.total))
            case .multipart: .multipart
            }
        self.init(
            id: caller.inner(begin.id), path: begin.path, size: begin.size, kind: begin.kind, function: begin.digest,
            conflict: begin.conflict, modified: begin.modified, permissions: begin.permissions, extent: extent,
            recipients: begin.recipients?.names ?? [], note: begin.note)
        (keepsPermissions, attributes) = (begin.keepsPermissions, caller.allowed(begin.attributes))
        (filled, replaceable) = (begin.filled, begin.version)
    }
}

extension UploadResult {
    /// Milliseconds after which a client may try again what the server had no room for.
    private static let patience: UInt32 = 1000

    /// - Parameters:
    ///   - id: as the client knows it.
    ///   - path: that the client asked for, in the server's directory; nothing where it named none.
    init(_ outcome: UploadOutcome, of id: UploadID, askedFor path: String?, by caller: Caller) {
        let pause = outcome.retryAfter.map { UInt32(clamping: $0.nanoseconds / 1_000_000) } ?? Self.patience
        self.init(
            id: id, code: outcome.code, isDurable: outcome.isDurable, size: outcome.size, digest: outcome.digest,
            message: caller.redacted(outcome.message), retryAfter: outcome.code == .busy ? pause : nil)
        guard case .acknowledged(let acknowledgement) = outcome else { return }
        receipt = acknowledgement.receipt
        hasReplaced = acknowledgement.replaced == .other
        trash = acknowledgement.trash
        let isAsAsked = path.map { acknowledgement.path.string.hasSameBytes(as: $0) } ?? false
        storedPath = isAsAsked ? nil : caller.clientPath(acknowledgement.path)?.string
    }
}

extension Caller {
    /// How a request ended, as the client understands it.
    func outer(_ outcome: Outcome) -> Outcome {
        var outcome = outcome
        outcome.message = redacted(outcome.message)
        return outcome
    }
}
