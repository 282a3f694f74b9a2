import TransferCatalog
import TransferModel
import TransferReceipts

extension ReceiptIssuer.Acknowledged {
    /// As the client knows the upload.
    ///
    /// - Returns: nothing for what no receipt can promise.
    init?(_ stored: CommitPipeline.Published.Stored, _ kind: ContentKind, for caller: Caller) {
        guard stored.isDurable, let path = caller.clientPath(stored.path) else { return nil }
        self.init(
            uploadID: caller.outer(stored.entry.id), path: path, kind: kind, size: stored.size, digest: stored.digest,
            result: stored.isNew ? .committed : .alreadyStored)
    }

    /// The same for an acknowledgement that is given again.
    init?(_ acknowledgement: Acknowledgement, for caller: Caller) {
        guard acknowledgement.isDurable, let path = caller.clientPath(acknowledgement.path) else { return nil }
        self.init(
            uploadID: caller.outer(acknowledgement.id), path: path, kind: acknowledgement.kind,
            size: acknowledgement.size, digest: acknowledgement.digest, result: acknowledgement.code)
    }

    /// As it was acknowledged.
    init?(_ entry: CatalogEntry, for caller: Caller) {
        guard let digest = entry.digest, let path = (try? RelativePath(entry.path)).flatMap(caller.clientPath) else {
            return nil
        }
        self.init(
            uploadID: caller.outer(entry.id), path: path, kind: entry.kind, size: entry.size, digest: digest,
            result: entry.state == .committed ? .committed : .alreadyStored)
    }
}
