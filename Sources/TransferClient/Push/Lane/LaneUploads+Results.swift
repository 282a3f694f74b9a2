import TransferIO
import TransferModel
import TransferProtocol
import TransferReceipts

/// What becomes of an upload when the server has answered.
extension LaneUploads {
    /// - Throws: `unexpectedFrame` when it acknowledges something else than was sent.
    func finished(_ result: UploadResult) throws(ProtocolFault) {
        try inFlight.check(result, run.configuration.conflict)
        guard let (upload, failure, digest) = inFlight.remove(result.id) else { return }
        settled(result)
        if !run.configuration.recipients.isEmpty { run.feed.refuse(result) }
        if upload.isDrop {
            // Nobody waits for it.
        } else if let failure {
            report(upload, of: upload.split) { .failed($0, failure) }
        } else if shouldRetry(upload, result) {
            upload.asked?.restart()
            putBack(upload, result)
        } else {
            if result.code == .staged {
                hasProgressed = true
                progressed(upload, result.size)
                if let end = upload.split?.staged(upload) { run.feed.putBack([end]) }
            } else {
                report(upload, result, digest: digest)
                upload.asked = nil
            }
        }
        ended(upload)
        news.tell()
    }

    /// - Parameter digest: of the content as it was sent, if all of it was.
    func report(_ upload: PendingUpload, _ result: UploadResult, digest: Digest? = nil) {
        report(upload, result, digest) { [inspector] in inspector?.inspect(result, for: $0, digest: digest) }
    }

    /// - Parameters:
    ///   - digest: of the content as it was sent, if all of it was.
    ///   - receipt: gives that of an acknowledgement; nothing where none is wanted.
    func report(
        _ upload: PendingUpload, _ result: UploadResult, _ digest: Digest?,
        receipt: (UploadReport) -> Result<SignedReceipt, ReceiptFault>?
    ) {
        hasProgressed = true
        report(upload, of: upload.split) { upload in
            var report = UploadReport(upload, result)
            report.isRead = digest != nil
            report.recipients = run.configuration.recipients
            // It is where nobody but they can fetch it.
            if !report.recipients.isEmpty { report.storedPath = nil }
            sealedEnded(upload, result.code)
            if result.isAcknowledgement, let receipt = receipt(report) { report.take(receipt) }
            return report
        }
    }

    /// What is kept to go on with it is needed no more.
    private func sealedEnded(_ upload: PendingUpload, _ code: ResultCode) {
        guard let sealing = run.sealing else { return }
        sealing.ended(upload, code)
        if sealing.hasToSettle { run.pool.submit { sealing.settle() } }
    }

    /// A file whose parts the server doesn't have any more starts anew, with the same id.
    func putBack(_ upload: PendingUpload, _ result: UploadResult) {
        if result.code == .contentMismatch, let split = upload.split {
            // It may be the answer to several parts.
            guard split.finish() else { return }
            split.whole.attempts = upload.attempts
            split.whole.takeOwnID()
            return run.feed.putBack([split.whole])
        }
        if result.code == .contentMismatch { upload.takeOwnID() }
        if result.code == .incomplete, case .part(let split, _) = upload.content, run.lanes.hasDoubtfulParts {
            // The parts that are handed out from then on begin with no attempts.
            split.whole.attempts = upload.attempts
            isTooOld = true
        }
        guard result.code == .incomplete, case .multipart(let split) = upload.content else {
            return run.feed.putBack([upload])
        }
        split.whole.attempts = upload.attempts
        split.restart()
        split.whole.asked = split
        run.feed.putBack([split.whole])
    }

    private func shouldRetry(_ upload: PendingUpload, _ result: UploadResult) -> Bool {
        // The id stands for other content there: a file that was changed so that nobody could see it, or one of another
        // machine that looks the same.
        guard
            result.code.isRetryable
                || result.code == .contentMismatch && (upload.split?.whole ?? upload).isIdentified
                    && upload.sealed == nil
        else { return false }
        // A server that goes is no fault of the upload, and would only say the same again.
        guard result.code != .shuttingDown else {
            run.lanes.serverLeaves(taking: upload.isUnderWay ? .nothing : .running)
            news.tell()
            return true
        }
        upload.attempts = max(upload.attempts, upload.split?.whole.attempts ?? 0) + 1
        guard upload.attempts <= run.configuration.retries else { return false }
        if let interval = result.hold(attempt: upload.attempts) { hold(interval) }
        return true
    }

    /// Begins no upload for a while.
    private func hold(_ interval: Interval) {
        heldUntil = max(heldUntil, .now + interval)
        _ = run.loop.schedule(at: heldUntil.nanoseconds) { [weak self] in
            self?.news.tell()
        }
    }
}

/// Acknowledgements whose receipts come behind them, one frame for many.
extension LaneUploads {
    /// The upload is stored, and is reported when its receipt is there. If the connection is lost before that, it has lost
    /// an acknowledgement.
    ///
    /// - Throws: `unexpectedFrame` when it acknowledges something else than was sent.
    func acknowledged(_ result: UploadResult) throws(ProtocolFault) {
        try inFlight.check(result, run.configuration.conflict)
        settled(result)
        inFlight.hold(result)
        news.tell()
    }

    /// Looks at the receipts of the acknowledgements that came first, and reports these.
    func received(_ receipts: SignedBatch) {
        // There since `welcome`, before which there are no results.
        guard let inspector else { return }
        let held = inFlight.takeHeld(receipts.count)
        switch inspector.inspect(receipts, of: held) {
        case .success(let signed): for index in held.indices { report(held[index], .success(signed[index])) }
        case .failure(let fault): for index in held.indices { report(held[index], .failure(fault)) }
        }
        news.tell()
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
