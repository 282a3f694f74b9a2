import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts

/// Checks the receipts that arrive over one connection before they are used.
///
/// It belongs to one session, and is used on its loop.
final class ReceiptInspector {
    private let server: ServerKey
    private let verifier = ReceiptVerifier()
    private let decoder = ReceiptDecoder()
    private let batchVerifier: BatchVerifier

    /// - Parameter server: the key that the server claims to have.
    init(_ server: ServerKey) {
        self.server = server
        batchVerifier = BatchVerifier(server)
    }

    /// Checks the receipt in a result.
    ///
    /// - Parameters:
    ///   - report: the report on the upload that the receipt must describe.
    ///   - digest: the digest of the sent content, if all of it was sent.
    /// - Returns: the valid receipt, or what is wrong with it.
    func inspect(
        _ result: UploadResult, for report: UploadReport, digest: Digest?
    ) -> Result<SignedReceipt, ReceiptFault> {
        Result { () throws(ReceiptFault) in
            guard let bytes = result.receipt else { throw .missing }
            let signed = try decoder.decode(bytes)
            let receipt = signed.receipt
            guard receipt.server == server else { throw .otherServer(receipt.server) }
            guard receipt.uploadID == report.uploadID else { throw .otherUpload("another upload ID") }
            guard let path = report.storedPath, receipt.path.string.hasSameBytes(as: path) else {
                throw .otherUpload("another path, \(receipt.path)")
            }
            guard receipt.size == report.size else { throw .otherUpload("\(receipt.size) bytes") }
            guard receipt.digest == digest ?? result.digest else { throw .otherUpload("other content") }
            try verifier.verify(signed)
            return signed
        }
    }

    /// Makes the receipts that the server has signed with one signature, from what the client knows, and checks the
    /// signature.
    ///
    /// - Parameter uploads: the uploads that the frame covers.
    /// - Returns: a valid receipt for each upload, or what is wrong.
    func inspect(_ frame: SignedBatch, of uploads: [InFlight.Held]) -> Result<[SignedReceipt], ReceiptFault> {
        Result { () throws(ReceiptFault) in
            let acknowledged = uploads.indices.compactMap { uploads[$0].acknowledged }
            guard acknowledged.count == uploads.count else { throw .malformed("signed over results that lack a field") }
            return try batchVerifier.verify(frame, of: acknowledged)
        }
    }
}

extension InFlight.Held {
    /// The contents of the receipt as the client knows them: the signature is valid only if the server has signed the
    /// same.
    ///
    /// - Returns: nil if the result lacks a field.
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
