import TransferKeys
import TransferModel

/// What the receipts of one batch have in common.
struct BatchTerms {
    /// Of the first receipt; the others count up from there.
    let firstNumber: UInt64
    let sender: String
    let time: ReceiptTime
    let server: ServerKey

    /// The receipt of an upload.
    ///
    /// - Parameter index: which of the batch it is.
    func receipt(_ upload: ReceiptIssuer.Acknowledged, at index: Int) -> Receipt {
        Receipt(
            number: firstNumber &+ UInt64(index), uploadID: upload.uploadID, path: upload.path, kind: upload.kind,
            size: upload.size, digest: upload.digest, result: upload.result, sender: sender, time: time, server: server)
    }
}
