import TransferProtocol
import TransferReceipts
import TransferStore

extension ReceiptIssuer {
    /// Signs for every upload that is stored and durable.
    ///
    /// - Parameter uploads: in the order in which their results leave; their receipts leave behind them.
    /// - Returns: nothing where there is none.
    func receipts(for uploads: [PublishedUpload], of client: ClientView) -> Receipts? {
        let acknowledged = uploads.compactMap { upload in
            upload.path.flatMap { Acknowledged(upload.result, upload.receiving.begin.kind, at: $0, for: client) }
        }
        return acknowledged.isEmpty ? nil : issue(acknowledged, sender: client.sender).frame
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
}
