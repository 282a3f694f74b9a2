import TransferKeys
import TransferProtocol
import TransferReceipts

/// Looks at the receipts that come over one connection before anybody relies on them.
///
/// It belongs to one session.
final class ReceiptInspector {
    private let server: ServerKey
    private let verifier = ReceiptVerifier()
    private let decoder = ReceiptDecoder()

    /// - Parameter server: what the server says its key is.
    init(_ server: ServerKey) {
        self.server = server
    }

    /// - Parameters:
    ///   - report: of the upload that the receipt has to be about.
    ///   - digest: of the content as it was sent, if all of it was.
    /// - Returns: the receipt, which is good.
    func inspect(
        _ result: UploadResult, for report: UploadReport, digest: Digest?
    ) throws(ReceiptFault) -> SignedReceipt {
        guard let bytes = result.receipt else { throw .missing }
        let signed = try decoder.decode(bytes)
        let receipt = signed.receipt
        guard receipt.server == server else { throw .otherServer(receipt.server) }
        guard receipt.uploadID == report.uploadID else { throw .otherUpload("another upload id") }
        guard let path = report.storedPath, receipt.path.string.hasSameBytes(as: path) else {
            throw .otherUpload("another path, \(receipt.path)")
        }
        guard receipt.size == report.size else { throw .otherUpload("\(receipt.size) bytes") }
        guard receipt.digest == digest ?? result.digest else { throw .otherUpload("other content") }
        try verifier.verify(signed)
        return signed
    }
}
