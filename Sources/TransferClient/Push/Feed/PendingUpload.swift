import Synchronization
import TransferModel

/// One upload from the moment it is found to the moment it has its report. Tried again, it keeps its id, unless its source
/// has changed.
///
/// `@unchecked Sendable`: belongs to one place at a time: the feed, then the producer that reads it, then the session
/// that waits for its result.
final class PendingUpload: @unchecked Sendable {
    /// Where the bytes come from.
    enum Content {
        case file(SourcePlace)
        /// A file as the server gets it, when that must not know what it is.
        case sealed(SealedFile)
        case bytes([UInt8])
        case stream(BlockStream)
        /// Some bytes of what is long.
        case part(any UploadInParts, Range<UInt64>)
        /// What has not been read of a long stream.
        case rest(StreamUpload)
        /// What ends a long upload, when all its parts are there.
        case multipart(any UploadInParts)
        /// Takes back what the server has of a long upload, when nobody can go on with it.
        case drop(any UploadInParts)
    }

    /// Until a file was opened, any.
    private(set) var id: UploadID

    let content: Content

    /// For the report.
    let label: String

    /// Path to store under, the server's folder included.
    let destination: String

    /// As asked for, or found out before.
    let wantedKind: ContentKind?

    /// What the server must not know of it; nothing where it may know all.
    let sealed: SealedUpload?

    /// It was sealed and acknowledged before, as this says, and the server has to be asked whether it still knows that.
    private(set) var record: SealingRecord?

    /// Not to be derived from the source: another upload has that id.
    private var hasOwnID: Bool

    /// What the file was when it got its id.
    private var identity: SourceFile.Identity?

    /// What the file has to be, where nothing else is to be sent.
    var expected: SourceFile.Identity?

    /// What it may take the place of; nil for whatever is there.
    var replaceable: FileVersion?

    /// The server was asked about it and doesn't have it, so it is sent.
    var isUnknown = false

    /// What is known of it in parts, when the server has to be asked again.
    var asked: (any UploadInParts)?

    // Filled in by the producer before it hands the upload over; afterwards the session may be reading them.
    var kind = ContentKind.file
    var size: UInt64?
    var started: Int64 = 0
    /// The file when it was last looked at.
    var file: SourceFile.Identity?
    var picture: Picture?
    /// Of the content, when all of it is in one chunk.
    var digest: Digest?
    /// Results that said that trying again may help.
    var attempts = 0

    /// How often it was begun to send it. Of an upload in parts the loop counts while threads of the pool report.
    let begun = Atomic<Int>(0)

    /// What the server has of it is of no more use. Touched on the run's loop only.
    var isGivenUp = false

    /// Bytes that a server has said to have of it at most, on any connection. Touched on the run's loop only.
    var furthest: UInt64 = 0

    /// - Parameter hasOwnID: whether the id stays, whatever the source is.
    init(
        _ content: Content, label: String, destination: String, kind: ContentKind?, id: UploadID = .random(),
        hasOwnID: Bool = true, sealed: SealedUpload? = nil
    ) {
        self.id = id
        self.sealed = sealed
        self.content = content
        self.label = label
        self.destination = destination
        wantedKind = kind
        self.hasOwnID = hasOwnID
    }

    /// The same upload as the server gets it.
    convenience init(_ content: Content, _ sealed: SealedUpload, of upload: PendingUpload) {
        self.init(
            content, label: upload.label, destination: SealedUpload.wirePath, kind: .file, id: sealed.id,
            hasOwnID: upload.hasOwnID, sealed: sealed)
        started = upload.started
    }

    /// Takes the id that the server knows it by.
    func recall(_ record: SealingRecord) {
        (self.record, id, size) = (record, record.id, record.sealedSize)
    }

    /// Whether it must not be sent before the server has said that it doesn't have it.
    var hasToBeAskedAbout: Bool { record != nil && !isUnknown }

    /// Takes the id that its source gives it.
    func identify(_ ids: SourceID, _ file: SourceFile.Identity?) {
        guard !hasOwnID, case .file(let place) = content, let file, file != identity else { return }
        identity = file
        id = ids.id(path: place.path.absolutePath, destination: destination, file: file)
    }

    /// - Throws: `sourceChanged` for a file that is not to be sent.
    func check(_ file: SourceFile.Identity?) throws(Failure) {
        guard expected == nil || file == expected else { throw .changed }
    }

    /// Takes an id that nothing else has.
    func takeOwnID() {
        hasOwnID = true
        id = .random()
    }

    /// Whether its id stands for its source.
    var isIdentified: Bool { !hasOwnID }

    /// Some or the end of another one.
    convenience init(_ content: Content, of whole: PendingUpload, id: UploadID = .random()) {
        self.init(
            content, label: whole.label, destination: whole.destination, kind: whole.kind, id: id, sealed: whole.sealed)
        (kind, replaceable) = (whole.kind, whole.replaceable)
    }

    /// The same upload with its content in memory.
    func holding(_ bytes: [UInt8]) -> PendingUpload {
        let held = PendingUpload(
            .bytes(bytes), label: label, destination: destination, kind: wantedKind, id: id, sealed: sealed)
        (held.started, held.replaceable) = (started, replaceable)
        return held
    }

    /// Where its content is read, if it is a file.
    var place: SourcePlace? {
        switch content {
        case .file(let place): place
        case .sealed(let file): file.source.place
        case .part(let split, _), .multipart(let split), .drop(let split): split.whole.place
        case .bytes, .stream, .rest: nil
        }
    }

    /// What the content is, from its front, and what its picture is like, where it is one.
    func recognised(in reader: ContentReader) -> (ContentKind, Picture?) {
        let kind =
            wantedKind
            ?? reader.front(ContentKind.sampleSize).withUnsafeBytes {
                ContentKind(recognising: $0, isWhole: $0.count < ContentKind.sampleSize)
            }
        return (kind, kind == .picture ? Picture(reader) : nil)
    }

    /// What it is a part or the end of.
    var split: (any UploadInParts)? {
        switch content {
        case .part(let split, _), .multipart(let split): split
        case .rest(let stream): stream
        case .file, .sealed, .bytes, .stream, .drop: nil
        }
    }

    /// Whether it is, or is made of, a file with a path.
    var isFile: Bool {
        switch content {
        case .file, .sealed: true
        case .part(let split, _), .multipart(let split), .drop(let split): split.whole.isFile
        case .bytes, .stream, .rest: false
        }
    }

    /// Whether it only takes back: then nobody waits for what comes of it.
    var isDrop: Bool { if case .drop = content { true } else { false } }

    /// Whether somebody else decides when there is something to send.
    var mayBlock: Bool {
        switch content {
        case .stream: asked == nil
        case .rest: true
        case .file, .sealed, .bytes, .part, .multipart, .drop: false
        }
    }

    /// Whether it is some of an upload that the server works on.
    var isUnderWay: Bool { split != nil }

    /// Whether the server may take it for another connection's.
    var isShared: Bool { split != nil || asked != nil }

    /// Whether what the server has of it is found again by the same command.
    var isResumable: Bool { (split ?? asked)?.whole.isIdentified ?? false }

    /// What to report when this has come to an end: of an upload in parts, only the first end counts, and it is the whole
    /// that is reported.
    func takeReported() -> PendingUpload? {
        guard !isDrop else { return nil }
        guard let split = split ?? asked else { return self }
        return split.finish() ? split.whole : nil
    }
}
