import TransferProtocol
import TransferReceipts
import TransferStore

extension ReceiptIssuer {
    /// Gives every upload that is stored and durable its receipt; all of them share one signature.
    func addReceipts(to uploads: inout [PublishedUpload], for client: ClientView) {
        let acknowledged = uploads.map { upload in
            upload.path.flatMap { Acknowledged(upload.result, upload.receiving.begin.kind, at: $0, for: client) }
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return }
        let batch = issue(wanted, sender: client.sender)
        var next = 0
        for (index, upload) in acknowledged.enumerated() where upload != nil {
            uploads[index].take(receipt: batch.encoded(next))
            next += 1
        }
    }

    /// Puts a receipt into every such result that has none yet and says itself what it is about; all of them share one
    /// signature.
    func addMissingReceipts(to results: inout [UploadResult], for client: ClientView) {
        let missing = results.indices.filter { results[$0].receipt == nil }
        let acknowledged = missing.map { index in
            results[index].storedPath.flatMap { try? RelativePath($0) }
                .flatMap { Acknowledged(results[index], results[index].kind ?? .file, at: $0, for: client) }
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return }
        let batch = issue(wanted, sender: client.sender)
        var next = 0
        for (index, upload) in zip(missing, acknowledged) where upload != nil {
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
}

extension UploadResult {
    /// Whether the content is stored under a path.
    var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }
}
