import TransferProtocol
import TransferReceipts
import TransferStore

extension ReceiptIssuer {
    /// Puts a receipt into every result that acknowledges durable content; all of them share one signature.
    ///
    /// - Parameter uploads: what the results are about, in the same order.
    /// - Returns: the receipts, to be kept before the results leave.
    @discardableResult
    func addReceipts(
        to results: inout [UploadResult], of uploads: [(receiving: Receiving, publication: Publication)], sender: String
    ) -> [SignedReceipt] {
        let acknowledged = zip(results, uploads).map { result, upload in
            Acknowledged(result, upload.receiving.begin.kind, path: upload.publication.path.string)
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return [] }
        let receipts = issue(wanted, sender: sender)
        var next = receipts[...]
        for (index, upload) in acknowledged.enumerated() where upload != nil {
            results[index].receipt = next.popFirst()?.encoded
        }
        return receipts
    }

    /// Puts a receipt into every such result that has none yet and says itself what it is about; all of them share one
    /// signature.
    func addMissingReceipts(to results: inout [UploadResult], sender: String) {
        let missing = results.indices.filter { results[$0].receipt == nil }
        let acknowledged = missing.map { index in
            Acknowledged(results[index], results[index].kind ?? .file, path: results[index].storedPath ?? "")
        }
        let wanted = acknowledged.compactMap(\.self)
        guard !wanted.isEmpty else { return }
        var next = issue(wanted, sender: sender)[...]
        for (index, upload) in zip(missing, acknowledged) where upload != nil {
            results[index].receipt = next.popFirst()?.encoded
        }
    }

    /// Puts a receipt of its own into a result, if it acknowledges durable content.
    ///
    /// - Parameter path: that the client asked for.
    func addReceipt(to result: inout UploadResult, path: String, kind: ContentKind, sender: String) {
        guard let acknowledged = Acknowledged(result, kind, path: path) else { return }
        result.receipt = issue([acknowledged], sender: sender).first?.encoded
    }
}

extension ReceiptIssuer.Acknowledged {
    /// - Returns: nothing for a result that promises nothing.
    fileprivate init?(_ result: UploadResult, _ kind: ContentKind, path: String) {
        // The store has made a path of it before.
        guard result.isAcknowledgement, result.isDurable, let digest = result.digest,
            let path = try? RelativePath(result.storedPath ?? path)
        else { return nil }
        self.init(
            uploadID: result.id, path: path, kind: kind, size: result.size, digest: digest, result: result.code)
    }
}

extension UploadResult {
    /// Whether the content is stored under a path.
    var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }
}
