import TransferModel
import TransferProtocol
import TransferReceipts

/// Acknowledgements whose receipts come behind them, one frame for many.
extension ClientSession {
    /// The upload is stored, and is reported when its receipt is there. If the connection is lost before that, it has lost
    /// an acknowledgement.
    func acknowledged(_ result: UploadResult) {
        settled(result)
        inFlight.hold(result)
        tellProducer()
    }

    /// Looks at the receipts of the acknowledgements that came first, and reports these.
    func received(_ receipts: BatchSeal) {
        // There since `welcome`, before which there are no results.
        guard let inspector else { return }
        let held = inFlight.takeHeld(receipts.count)
        switch inspector.inspect(receipts, of: held) {
        case .success(let signed): for index in held.indices { report(held[index], .success(signed[index])) }
        case .failure(let fault): for index in held.indices { report(held[index], .failure(fault)) }
        }
        tellProducer()
    }

    private func report(_ held: InFlight.Held, _ receipt: Result<SignedReceipt, ReceiptFault>) {
        let upload = held.upload
        if upload.isDrop {
            // Nobody waits for it.
        } else if let failure = held.failure {
            report(upload, of: upload.split) { .failed($0, failure) }
        } else {
            report(upload, held.result, held.digest) { _ in receipt }
            upload.asked = nil
        }
        ended(upload)
    }
}
