import TransferProtocol
import TransferReceipts
import TransferStore

extension ReceiptIssuer {
    /// Gives every upload that is stored and durable its receipt; all of them share one signature.
    func addReceipts(to uploads: inout [PublishedUpload], sender: String) {
        let acknowledged = uploads.map { upload in
            upload.path.flatMap { Acknowledged(upload.result, upload.receiving.begin.kind, at: $0) }
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return }
        let batch = issue(wanted, sender: sender)
        var next = 0
        for (index, upload) in acknowledged.enumerated() where upload != nil {
            uploads[index].take(receipt: batch.encoded(next))
            next += 1
        }
    }

    /// Puts a receipt into every such result that has none yet and says itself what it is about; all of them share one
    /// signature.
    func addMissingReceipts(to results: inout [UploadResult], sender: String) {
        let missing = results.indices.filter { results[$0].receipt == nil }
        let acknowledged = missing.map { index in
            results[index].storedPath.flatMap { try? RelativePath($0) }
                .flatMap { Acknowledged(results[index], results[index].kind ?? .file, at: $0) }
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return }
        let batch = issue(wanted, sender: sender)
        var next = 0
        for (index, upload) in zip(missing, acknowledged) where upload != nil {
            results[index].receipt = batch.encoded(next)
            next += 1
        }
    }

    /// Puts a receipt of its own into a result, if it acknowledges durable content.
    ///
    /// - Parameter path: that the client asked for.
    func addReceipt(to result: inout UploadResult, path: String, kind: ContentKind, sender: String) {
        // The store has made a path of it before.
        guard let path = try? RelativePath(result.storedPath ?? path),
            let acknowledged = Acknowledged(result, kind, at: path)
        else { return }
        result.receipt = issue([acknowledged], sender: sender).encoded(0)
    }
}

extension ReceiptIssuer.Acknowledged {
    /// - Parameter path: where the content is.
    /// - Returns: nothing for a result that promises nothing.
    fileprivate init?(_ result: UploadResult, _ kind: ContentKind, at path: RelativePath) {
        guard result.isAcknowledgement, result.isDurable, let digest = result.digest else { return nil }
        self.init(
            uploadID: result.id, path: path, kind: kind, size: result.size, digest: digest, result: result.code)
    }
}

extension UploadResult {
    /// Whether the content is stored under a path.
    var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }
}
