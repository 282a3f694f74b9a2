import Synchronization
import TransferModel
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
        hasReplaced = result.hasReplaced
        trash = result.trash.map { TrashedBatch($0) }
        describe(upload)
    }

    /// Says what only this side knows.
    mutating func describe(_ upload: PendingUpload) {
        destination = upload.sealed?.path.string ?? upload.destination
        isPath = upload.isFile
        place = upload.place
        file = upload.file
        picture = upload.picture
        attempts = upload.begun.load(ordering: .relaxed)
        if let sealed = upload.sealed {
            (isSealed, kind, size) = (true, sealed.kind, sealed.size ?? size)
        } else if let record = upload.record {
            (isSealed, kind, size) = (true, record.kind, record.size)
        }
    }

    /// Takes over the receipt of an acknowledgement, if it is good; otherwise that is how the upload ends.
    mutating func take(_ signed: Result<SignedReceipt, ReceiptFault>) {
        switch signed {
        case .success(let signed): receipt = signed
        case .failure(let fault):
            result = .badReceipt
            message = "Stored, but the receipt is no good: \(fault.phrase)."
        }
    }
}
