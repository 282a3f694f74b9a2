import TransferKeys
import TransferModel

/// Values that all receipts of one batch have in common.
struct BatchTerms {
    /// Number of the first receipt; the others count up from it.
    let firstNumber: UInt64
    let sender: String
    let time: ReceiptTime
    let server: ServerKey

    /// Makes the receipt of an upload.
    ///
    /// - Parameter index: index in the batch.
    func receipt(_ upload: ReceiptIssuer.Acknowledged, at index: Int) -> Receipt {
        Receipt(
            number: firstNumber &+ UInt64(index), uploadID: upload.uploadID, path: upload.path, kind: upload.kind,
            size: upload.size, digest: upload.digest, result: upload.result, sender: sender, time: time, server: server)
    }
}
