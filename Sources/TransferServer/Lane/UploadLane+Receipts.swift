import TransferCatalog
import TransferModel
import TransferProtocol
import TransferReceipts

/// Receipts of acknowledgements that an upload has already.
extension UploadLane {
    /// - Returns: the result with a receipt, if the client wants any: the one that the acknowledgement came with where it
    ///   is repeated, and otherwise one of now.
    func withReceipt(_ result: UploadResult, _ receiving: Receiving) -> UploadResult {
        guard let issuer else { return result }
        var result = result
        result.receipt = context.known.entry(for: result.id).flatMap { earlierReceipt(of: $0, by: issuer) }
        if result.receipt == nil {
            issuer.addReceipt(to: &result, path: receiving.begin.path, kind: receiving.begin.kind, for: client)
        }
        return result
    }

    /// - Returns: nothing for an upload of another push, one that was acknowledged without a receipt, and one whose
    ///   receipt cannot be made again because another upload of its batch is no more what it was.
    private func earlierReceipt(of entry: CatalogEntry, by issuer: ReceiptIssuer) -> [UInt8]? {
        guard let number = entry.receipt, entry.run == run else { return nil }
        if let receipt = repeated?.encoded(number: number) { return receipt }
        repeated = context.known.signed(with: number).flatMap { issuer.issue(again: $0, for: client) }
        return repeated?.encoded(number: number)
    }
}
