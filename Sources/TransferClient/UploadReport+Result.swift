import TransferProtocol
import TransferReceipts
import TransferSystem

extension UploadReport {
    /// For what the server answered.
    init(_ upload: PendingUpload, _ result: UploadResult) {
        self.init(
            source: upload.label, uploadID: upload.id, result: result.code,
            storedPath: result.isAcknowledgement ? result.storedPath ?? upload.destination : nil, kind: upload.kind,
            size: upload.size ?? result.size, digest: result.digest, isDurable: result.isDurable,
            seconds: Double(monotonicNanoseconds() - upload.started) / 1e9, message: result.message)
    }

    /// Takes over the receipt that came with the result, if it is good; otherwise that is how the upload ends.
    ///
    /// - Parameter digest: of the content as it was sent, if all of it was.
    mutating func takeReceipt(of result: UploadResult, digest: Digest?, _ inspector: ReceiptInspector) {
        guard result.isAcknowledgement else { return }
        do throws(ReceiptFault) {
            receipt = try inspector.inspect(result, for: self, digest: digest)
        } catch {
            self.result = .badReceipt
            message = "Stored, but the receipt is no good: \(error.phrase)."
        }
    }
}

extension UploadResult {
    /// Whether the content is stored.
    var isAcknowledgement: Bool { code == .committed || code == .alreadyStored }
}
