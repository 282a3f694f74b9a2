import Synchronization
import TransferIO
import TransferModel
import TransferProtocol
import TransferReceipts

/// The uploads of one lane, from their beginning to their reports: those without a result or its receipt, and those
/// that the server was asked about.
///
/// It belongs to the lane's session, and is used on the loop of that session.
final class LaneUploads {
    let run: RunContext

    /// Counts events that the producer may wait for.
    let news = ProducerNews()

    var inFlight = InFlight()

    /// The unanswered questions about what the server has of interrupted uploads.
    var questions: [UploadID: PartsQuery] = [:]

    /// The unanswered questions about folders.
    var folders = FolderQuestions()

    /// The answer to the upload that was begun last, the only one that the producer may still be sending.
    private(set) var answer = LaneProducer.Answer.none
    private var lastBegun: UploadID?

    /// Checks receipts; nil until the server has said that it gives receipts.
    var inspector: ReceiptInspector?

    /// The time before which no upload may begin.
    var heldUntil = MonotonicTime(nanoseconds: 0)

    /// Whether the server keeps a part for another connection of this push, which was newer than this one and was lost.
    var isTooOld = false

    /// Whether an upload has made progress on this connection.
    var hasProgressed = false

    init(_ run: RunContext) {
        self.run = run
    }

    func began(_ upload: PendingUpload) {
        inFlight.add(upload)
        upload.begun.add(1, ordering: .relaxed)
        // If it must be sent again, the server may know it by then.
        upload.isUnknown = false
        run.abandoned.began(upload)
        lastBegun = upload.id
        answer = .none
    }

    /// Notes the digest of an upload whose content was sent completely.
    func ended(_ id: UploadID, _ digest: Digest) {
        inFlight.ended(id, digest)
    }

    /// Notes that the producer has aborted an upload.
    func abandon(_ upload: PendingUpload, _ failure: Failure) {
        inFlight.abandon(upload.id, failure)
    }

    /// Reports a stream that could not be read. If the push was cancelled, its streams may have been stopped on
    /// purpose.
    func unread(_ upload: PendingUpload, _ failure: Failure) {
        guard !run.channel.isCancelled else { return run.feed.putBack([upload]) }
        report(upload, of: upload.split) { .failed($0, failure) }
    }

    func accepted(_ id: UploadID) {
        if id == lastBegun { answer = .accepted }
        questions[id]?.isAnswered = true
        conclude(id)
        news.tell()
    }

    /// Takes a result, which ends an upload or a question.
    func settled(_ result: UploadResult) {
        questions[result.id] = nil
        if result.code == .alreadyStored { run.lanes.lookups.sentInVain() }
        if result.id == lastBegun { answer = .settled }
    }

    func progressed(_ id: UploadID, _ bytes: UInt64) {
        guard let upload = inFlight[id] else { return }
        // The server reports the same bytes again on each connection; only more bytes than before are progress.
        if bytes > upload.furthest, bytes <= upload.size ?? 0 { (upload.furthest, hasProgressed) = (bytes, true) }
        progressed(upload, bytes)
    }

    /// - Parameter bytes: the bytes that the server reports.
    func progressed(_ upload: PendingUpload, _ bytes: UInt64) {
        let bytes = min(bytes, upload.size ?? Limits.uploadSize)
        let progress =
            if let split = upload.split {
                UploadProgress(source: upload.label, bytes: split.progressed(upload.id, bytes), size: split.knownSize)
            } else {
                UploadProgress(source: upload.label, bytes: bytes, size: upload.size)
            }
        run.channel.send(.progress(progress))
    }

    /// Takes the uploads that were begun and have no result, in order.
    func takeAll() -> [PendingUpload] {
        let uploads = inFlight.takeAll()
        for upload in uploads { ended(upload) }
        // The feed then hands out their files one by one.
        for folder in folders.takeAll().reversed() { run.feed.putBack(folder) }
        return uploads
    }
}

/// Results of uploads, and what follows from them.
extension LaneUploads {
    /// - Throws: `unexpectedFrame` if the server acknowledges other content than was sent.
    func finished(_ result: UploadResult) throws(ProtocolFault) {
        try inFlight.check(result, run.configuration.conflict)
        guard let (upload, failure, digest) = inFlight.remove(result.id) else { return }
        settled(result)
        if !run.configuration.recipients.isEmpty { run.feed.refuse(result) }
        if upload.isDrop {
            // The outcome of a request to discard needs no report.
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

    /// - Parameter digest: the digest of the sent content, if all of it was sent.
    func report(_ upload: PendingUpload, _ result: UploadResult, digest: Digest? = nil) {
        report(upload, result, digest) { [inspector] in inspector?.inspect(result, for: $0, digest: digest) }
    }

    /// - Parameters:
    ///   - digest: the digest of the sent content, if all of it was sent.
    ///   - receipt: returns the receipt of an acknowledgement; nil if none is wanted.
    func report(
        _ upload: PendingUpload, _ result: UploadResult, _ digest: Digest?,
        receipt: (UploadReport) -> Result<SignedReceipt, ReceiptFault>?
    ) {
        hasProgressed = true
        report(upload, of: upload.split) { upload in
            var report = UploadReport(upload, result)
            report.isRead = digest != nil
            report.recipients = run.configuration.recipients
            // Only the recipients can fetch it, so there is no path to report.
            if !report.recipients.isEmpty { report.storedPath = nil }
            sealedEnded(upload, result.code)
            if result.isAcknowledgement, let receipt = receipt(report) { report.take(receipt) }
            return report
        }
    }

    /// Removes the state that would resume a sealed upload.
    private func sealedEnded(_ upload: PendingUpload, _ code: ResultCode) {
        guard let sealing = run.sealing else { return }
        sealing.ended(upload, code)
        if sealing.hasToSettle { run.pool.submit { sealing.settle() } }
    }

    /// Puts an upload back after a failure. If the server lacks parts of a file, it is asked again what it has, under
    /// the same id. If it has other content under the id, the upload gets a new id.
    func putBack(_ upload: PendingUpload, _ result: UploadResult) {
        if result.code == .contentMismatch, let split = upload.split {
            // Several parts may get this result; only the first one counts.
            guard split.finish() else { return }
            split.whole.attempts = upload.attempts
            split.whole.takeOwnID()
            return run.feed.putBack([split.whole])
        }
        if result.code == .contentMismatch { upload.takeOwnID() }
        if result.code == .incomplete, case .part(let split, _) = upload.content, run.lanes.hasDoubtfulParts {
            // The next parts begin with no attempts, so the whole keeps the count.
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
        // The server has other content under this id: the file has changed without a visible sign, or a file of another
        // machine has the same id.
        guard
            result.code.isRetryable
                || result.code == .contentMismatch && (upload.split?.whole ?? upload).isIdentified
                    && upload.sealed == nil
        else { return false }
        // A refusal by a server that is stopping is no fault of the upload, so it does not count as an attempt.
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

    /// Begins no upload during the interval.
    private func hold(_ interval: Interval) {
        heldUntil = max(heldUntil, .now + interval)
        _ = run.loop.schedule(at: heldUntil.nanoseconds) { [weak self] in
            self?.news.tell()
        }
    }
}

/// Acknowledgements whose receipts arrive later, many receipts in one frame.
extension LaneUploads {
    /// Notes an acknowledgement, which is reported when its receipt arrives. If the connection is lost before, the
    /// upload counts as not acknowledged.
    ///
    /// - Throws: `unexpectedFrame` if the server acknowledges other content than was sent.
    func acknowledged(_ result: UploadResult) throws(ProtocolFault) {
        try inFlight.check(result, run.configuration.conflict)
        settled(result)
        inFlight.hold(result)
        news.tell()
    }

    /// Checks the receipts of the oldest acknowledgements, and reports these.
    func received(_ receipts: SignedBatch) {
        // The inspector exists since `welcome`, before which there are no results.
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
            // The outcome of a request to discard needs no report.
        } else if let failure = held.failure {
            report(upload, of: upload.split) { .failed($0, failure) }
        } else {
            report(upload, held.result, held.digest) { _ in receipt }
            upload.asked = nil
        }
        ended(upload)
    }
}

/// Failed uploads, whose content must not stay on the server.
extension LaneUploads {
    /// Reports the end of an upload, unless it was reported.
    ///
    /// - Parameter parts: the upload in parts that it is, or belongs to.
    func report(_ upload: PendingUpload, of parts: (any UploadInParts)?, _ make: (PendingUpload) -> UploadReport) {
        guard let reported = upload.takeReported() else { return }
        let report = make(reported)
        run.channel.send(.finished(report))
        if let parts { giveUp(parts, report.result) }
    }

    /// Has the server discard what it has of a failed upload, unless the same command could resume it. A changed source
    /// and a stream become other uploads, and a short file is sent again without a question.
    func giveUp(_ parts: any UploadInParts, _ code: ResultCode) {
        let isStored = [.committed, .alreadyStored, .badReceipt].contains(code)
        let isShort = parts.knownSize.map { $0 < PartSharing.usualSmallestFile } ?? false
        guard !isStored, code == .sourceChanged || !parts.whole.isIdentified || isShort else { return }
        send(run.abandoned.giveUp(parts))
    }

    /// Notes that an upload has its result, or was lost.
    func ended(_ upload: PendingUpload) {
        send(run.abandoned.ended(upload))
    }

    private func send(_ drop: PendingUpload?) {
        guard let drop else { return }
        run.feed.putBack([drop])
        news.tell()
    }
}

/// Questions about what the server has of interrupted uploads, and the answers.
extension LaneUploads {
    func ask(_ split: any UploadInParts) {
        // If the upload is put back, the next lane continues with the same parts.
        split.whole.asked = split
        inFlight.add(split.whole)
        split.whole.begun.add(1, ordering: .relaxed)
        questions[split.whole.id] = PartsQuery(split)
    }

    /// - Returns: the upload whose blocks are to be compared; nil if there is no such question.
    func compares(_ have: Have) -> (any UploadInParts)? {
        questions[have.id]?.comparing += 1
        return questions[have.id]?.split
    }

    func compared(_ split: any UploadInParts, _ have: Have, _ compared: Result<UInt64, Failure>) {
        guard questions[have.id]?.split === split else { return }
        questions[have.id]?.comparing -= 1
        switch compared {
        case .success(let bytes):
            run.channel.send(
                .progress(
                    UploadProgress(
                        phase: .resuming, source: split.whole.label, bytes: bytes, size: split.knownSize)))
        case .failure(let failure): questions[have.id]?.failure = failure
        }
        conclude(have.id)
    }

    /// Hands out the parts that the server does not have, once they are known.
    func conclude(_ id: UploadID) {
        guard let question = questions[id], question.isConcluded else { return }
        questions[id] = nil
        _ = inFlight.remove(id)
        do throws(Failure) {
            if let failure = question.failure { throw failure }
            if let end = try question.split.answered() {
                run.feed.putBack([end])
            } else {
                run.feed.add(question.split)
            }
        } catch {
            report(question.split.whole, of: question.split) { .failed($0, error) }
        }
        question.split.whole.asked = nil
        news.tell()
    }
}

/// Lookups of uploads before they are sent, and their answers.
extension LaneUploads {
    func lookUp(_ uploads: [PendingUpload]) {
        for upload in uploads { inFlight.add(upload) }
        run.lanes.lookups.asked()
    }

    /// Takes the earlier acknowledgement of an upload. If it describes the present source, no content needs to be sent.
    func known(_ result: UploadResult) {
        guard let upload = inFlight.remove(result.id)?.upload else { return }
        guard result.isAcknowledgement, result.hasPlausiblePath, result.size == upload.size,
            result.digest?.algorithm.function == run.configuration.digestFunction
        else {
            return unknown([upload])
        }
        run.lanes.lookups.knew()
        upload.kind = upload.wantedKind ?? result.kind ?? .file
        report(upload, result)
        news.tell()
    }

    /// Sends uploads that the server does not know.
    func unknown(_ ids: [UploadID]) {
        unknown(ids.compactMap { inFlight.remove($0)?.upload })
    }

    private func unknown(_ uploads: [PendingUpload]) {
        for upload in uploads { upload.isUnknown = true }
        run.lanes.lookups.missed(uploads.count)
        run.feed.putBack(uploads)
        news.tell()
    }
}

/// Answers to questions about folders.
extension LaneUploads {
    /// Takes an answer. If the server does not know all files of a folder, its files are handed out one by one.
    func compared(_ outcome: Outcome) {
        guard let folder = folders.remove(outcome.id) else { return }
        let isKnown = outcome.code == .alreadyStored && outcome.count == UInt64(folder.files.count)
        if isKnown {
            hasProgressed = true
            run.channel.send(.known(folder.report(isDurable: outcome.isDurable)))
        } else {
            run.feed.putBack(folder)
        }
        run.lanes.lookups.compared(isKnown: isKnown)
        news.tell()
    }
}
