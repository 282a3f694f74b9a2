import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts

/// Looks at the receipts that come over one connection before anybody relies on them.
///
/// It belongs to one session.
final class ReceiptInspector {
    private let server: ServerKey
    private let verifier = ReceiptVerifier()
    private let decoder = ReceiptDecoder()
    private let batchVerifier: BatchVerifier

    /// - Parameter server: what the server says its key is.
    init(_ server: ServerKey) {
        self.server = server
        batchVerifier = BatchVerifier(server)
    }

    /// Looks at the receipt in a result.
    ///
    /// - Parameters:
    ///   - report: of the upload that the receipt has to be about.
    ///   - digest: of the content as it was sent, if all of it was.
    /// - Returns: the receipt, which is good.
    func inspect(
        _ result: UploadResult, for report: UploadReport, digest: Digest?
    ) -> Result<SignedReceipt, ReceiptFault> {
        Result { () throws(ReceiptFault) in
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

    /// Makes the receipts of acknowledgements that the server has signed together, of what this side knows.
    ///
    /// - Parameter uploads: those that the frame is about.
    /// - Returns: a receipt for each, all good.
    func inspect(_ frame: SignedBatch, of uploads: [InFlight.Held]) -> Result<[SignedReceipt], ReceiptFault> {
        Result { () throws(ReceiptFault) in
            let acknowledged = uploads.indices.compactMap { uploads[$0].acknowledged }
            guard acknowledged.count == uploads.count else { throw .malformed("about results that lack something") }
            return try batchVerifier.verify(frame, of: acknowledged)
        }
    }
}

extension InFlight.Held {
    /// What the receipt has to say. As this side knows it: only where the server has signed the same will it verify.
    ///
    /// - Returns: nothing when the result lacks something.
    fileprivate var acknowledged: ReceiptIssuer.Acknowledged? {
        let whole = upload.split?.whole ?? upload
        guard let path = try? RelativePath(result.storedPath ?? upload.destination),
            let digest = digest ?? result.digest
        else { return nil }
        return ReceiptIssuer.Acknowledged(
            uploadID: result.id, path: path, kind: whole.kind, size: whole.size ?? result.size, digest: digest,
            result: result.code)
    }
}
