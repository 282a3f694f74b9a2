import Synchronization
import TransferIO
import TransferModel
import TransferProtocol

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
