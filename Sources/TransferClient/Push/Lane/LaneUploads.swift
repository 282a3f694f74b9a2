import Synchronization
import TransferIO
import TransferModel
import TransferProtocol
import TransferReceipts

/// The uploads of one lane, from their beginning to their report: those without a result or its receipt, and those that the
/// server was asked about.
///
/// Belongs to the lane's session, and like it to one loop.
final class LaneUploads {
    let run: RunContext

    /// Told when something has happened that the producer may be waiting for.
    let news = ProducerNews()

    var inFlight = InFlight()

    /// Uploads that the server was asked about.
    var questions: [UploadID: PartsQuery] = [:]

    /// Folders that the server was asked about.
    var folders = FolderQuestions()

    /// What became of the upload that was begun last, the only one that the producer can be in the middle of.
    private(set) var answer = LaneProducer.Answer.none
    private var lastBegun: UploadID?

    /// Looks at receipts, once the server has said that it gives some.
    var inspector: ReceiptInspector?

    /// Until then no upload may begin.
    var heldUntil = MonotonicTime(nanoseconds: 0)

    /// Whether the server keeps a part for a newer connection of this push, which is lost.
    var isTooOld = false

    /// Whether any upload got further here.
    var hasProgressed = false

    init(_ run: RunContext) {
        self.run = run
    }

    func began(_ upload: PendingUpload) {
        inFlight.add(upload)
        upload.begun.add(1, ordering: .relaxed)
        // Should it have to be sent again, it may be known by then.
        upload.isUnknown = false
        run.abandoned.began(upload)
        lastBegun = upload.id
        answer = .none
    }

    /// All of an upload's content was sent.
    func ended(_ id: UploadID, _ digest: Digest) {
        inFlight.ended(id, digest)
    }

    /// It was taken back.
    func abandon(_ upload: PendingUpload, _ failure: Failure) {
        inFlight.abandon(upload.id, failure)
    }

    /// Who cancels a push may stop its streams, too: that is then no fault of theirs.
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

    /// The server is done with an upload or a question.
    func settled(_ result: UploadResult) {
        questions[result.id] = nil
        if result.code == .alreadyStored { run.lanes.lookups.sentInVain() }
        if result.id == lastBegun { answer = .settled }
    }

    func progressed(_ id: UploadID, _ bytes: UInt64) {
        guard let upload = inFlight[id] else { return }
        // Said again on each connection, it is no progress.
        if bytes > upload.furthest, bytes <= upload.size ?? 0 { (upload.furthest, hasProgressed) = (bytes, true) }
        progressed(upload, bytes)
    }

    /// - Parameter bytes: as the server says.
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

    /// Those that were begun and have no result, in order; they are the caller's from now on.
    func takeAll() -> [PendingUpload] {
        let uploads = inFlight.takeAll()
        for upload in uploads { ended(upload) }
        // Their files come one by one then.
        for folder in folders.takeAll().reversed() { run.feed.putBack(folder) }
        return uploads
    }
}

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

/// What comes to nothing, and must not stay on the server for that.
extension LaneUploads {
    /// Reports the end of an upload, unless that has been done.
    ///
    /// - Parameter parts: what it is in parts, or some of.
    func report(_ upload: PendingUpload, of parts: (any UploadInParts)?, _ make: (PendingUpload) -> UploadReport) {
        guard let reported = upload.takeReported() else { return }
        let report = make(reported)
        run.channel.send(.finished(report))
        if let parts { giveUp(parts, report.result) }
    }

    /// Takes back what the server has of an upload that ended so, unless the same command could go on with it: one whose
    /// source has changed begins another upload, and so does a stream; and what is shorter is sent again without a question.
    func giveUp(_ parts: any UploadInParts, _ code: ResultCode) {
        let isStored = [.committed, .alreadyStored, .badReceipt].contains(code)
        let isShort = parts.knownSize.map { $0 < PartSharing.usualSmallestFile } ?? false
        guard !isStored, code == .sourceChanged || !parts.whole.isIdentified || isShort else { return }
        send(run.abandoned.giveUp(parts))
    }

    /// Something has its result, or was lost.
    func ended(_ upload: PendingUpload) {
        send(run.abandoned.ended(upload))
    }

    private func send(_ drop: PendingUpload?) {
        guard let drop else { return }
        run.feed.putBack([drop])
        news.tell()
    }
}

/// What the server has of uploads that were interrupted, and what is made of its answers.
extension LaneUploads {
    func ask(_ split: any UploadInParts) {
        // Whoever gets it back goes on from there.
        split.whole.asked = split
        inFlight.add(split.whole)
        split.whole.begun.add(1, ordering: .relaxed)
        questions[split.whole.id] = PartsQuery(split)
    }

    /// - Returns: whose blocks are to be compared; nothing when nobody has asked, or not any more.
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

    /// Hands out what the server does not have, once that is known.
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

/// What the server knows of uploads that it was asked about before they are sent.
extension LaneUploads {
    func lookUp(_ uploads: [PendingUpload]) {
        for upload in uploads { inFlight.add(upload) }
        run.lanes.lookups.asked()
    }

    /// What was acknowledged before needs no content, as long as it is what stands here.
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

    /// Sends them.
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

/// What the server knows of folders that it was asked about.
extension LaneUploads {
    /// A folder whose files are not all known is looked at file by file.
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
