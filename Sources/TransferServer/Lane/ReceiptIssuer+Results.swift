import TransferCatalog
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferStore

extension ReceiptIssuer {
    /// Signs for every upload that is stored and durable, and gives their entries the numbers.
    ///
    /// - Parameter uploads: in the order in which their results leave; their receipts leave behind them.
    /// - Returns: nothing where there is none.
    func sign(_ uploads: inout [PublishedUpload], of client: ClientView) -> BatchSeal? {
        var signed: [Int] = []
        let acknowledged = uploads.indices.compactMap { index in
            guard let path = uploads[index].path,
                let acknowledged = Acknowledged(
                    uploads[index].result, uploads[index].receiving.begin.kind, at: path, for: client)
            else { return nil as Acknowledged? }
            signed.append(index)
            return acknowledged
        }
        guard !acknowledged.isEmpty else { return nil }
        let seal = issue(acknowledged, sender: client.sender).seal
        for (offset, index) in signed.enumerated() { uploads[index].entry?.receipt = seal.number &+ UInt64(offset) }
        return seal
    }

    /// Makes the receipts again that were given with acknowledgements.
    ///
    /// - Returns: nothing when not all of these uploads are as they were.
    func issue(again receipts: SignedEntries, for client: ClientView) -> ReceiptBatch? {
        let uploads = receipts.entries.compactMap { Acknowledged($0, for: client) }
        return issue(again: receipts.seal, for: uploads)
    }

    /// Puts a receipt into every such result, which says itself what it is about; all of them share one signature.
    func addReceipts(to results: inout [UploadResult], for client: ClientView) {
        let acknowledged = results.map { result in
            result.storedPath.flatMap { try? RelativePath($0) }
                .flatMap { Acknowledged(result, result.kind ?? .file, at: $0, for: client) }
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return }
        let batch = issue(wanted, sender: client.sender)
        var next = 0
        for (index, upload) in acknowledged.enumerated() where upload != nil {
            results[index].receipt = batch.encoded(next)
            next += 1
        }
    }

    /// Puts a receipt of its own into a result, if it acknowledges durable content.
    ///
    /// - Parameter path: where the content was to be.
    func addReceipt(to result: inout UploadResult, path: String, kind: ContentKind, for client: ClientView) {
        // The store has made a path of it before.
        guard let path = try? RelativePath(result.storedPath ?? path),
            let acknowledged = Acknowledged(result, kind, at: path, for: client)
        else { return }
        result.receipt = issue([acknowledged], sender: client.sender).encoded(0)
    }
}

extension ReceiptIssuer.Acknowledged {
    /// As the client knows the upload.
    ///
    /// - Parameter path: where the content is.
    /// - Returns: nothing for a result that promises nothing.
    fileprivate init?(_ result: UploadResult, _ kind: ContentKind, at path: RelativePath, for client: ClientView) {
        guard result.isAcknowledgement, result.isDurable, let digest = result.digest, let path = client.shown(path)
        else { return nil }
        self.init(
            uploadID: client.outer(result.id), path: path, kind: kind, size: result.size, digest: digest,
            result: result.code)
    }

    /// As it was acknowledged.
    fileprivate init?(_ entry: CatalogEntry, for client: ClientView) {
        guard let digest = entry.digest, let path = (try? RelativePath(entry.path)).flatMap(client.shown) else {
            return nil
        }
        self.init(
            uploadID: client.outer(entry.id), path: path, kind: entry.kind, size: entry.size, digest: digest,
            result: entry.state == .committed ? .committed : .alreadyStored)
    }
}
