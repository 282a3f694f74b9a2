import Synchronization
import TransferModel

/// One upload from its discovery to its report. A retry keeps the id, unless the source has changed.
///
/// `@unchecked Sendable`: it belongs to one owner at a time: the feed, then the producer that reads it, then the
/// session that waits for its result.
final class PendingUpload: @unchecked Sendable {
    /// The source of the content.
    enum Content {
        case file(SourcePlace)
        /// A file, encrypted for its recipients.
        case sealed(SealedFile)
        case bytes([UInt8])
        case stream(BlockStream)
        /// A range of a long upload.
        case part(any UploadInParts, Range<UInt64>)
        /// The unread rest of a long stream.
        case rest(StreamUpload)
        /// The end of a long upload whose parts are all staged.
        case multipart(any UploadInParts)
        /// The request to discard what the server has of a long upload that cannot be resumed.
        case drop(any UploadInParts)
    }

    /// The id. An id that is derived from a file is set when the file is opened or looked up.
    private(set) var id: UploadID

    let content: Content

    /// The source as the report names it.
    let label: String

    /// The path to store under, including the server's folder.
    let destination: String

    /// The kind as the caller gave it, or as it was detected before.
    let wantedKind: ContentKind?

    /// The description that the server must not see; nil if the upload is not sealed.
    let sealed: SealedUpload?

    /// The record of an earlier, acknowledged upload of the sealed source; the server must be asked whether it still
    /// has that upload.
    private(set) var record: SealingRecord?

    /// Whether the id is not derived from the source, for example because another upload has that id.
    private var hasOwnID: Bool

    /// The identity of the file when it got its id.
    private var identity: SourceFile.Identity?

    /// The identity that the file must have; a file with another identity is not sent. Nil to send any file.
    var expected: SourceFile.Identity?

    /// The version of the stored file that this upload may replace; nil if it may replace any.
    var replaceable: FileVersion?

    /// Whether the server has said that it does not have this upload, so that the upload is sent.
    var isUnknown = false

    /// This upload in parts, if the server must be asked again what it has of it; otherwise nil.
    var asked: (any UploadInParts)?

    // The producer sets the following properties before it hands the upload over; afterwards the session may be reading
    // them.
    var kind = ContentKind.file
    var size: UInt64?
    var started: Int64 = 0
    /// The identity of the file when it was last examined.
    var file: SourceFile.Identity?
    var picture: Picture?
    /// The digest of the content, if all of it is in one chunk.
    var digest: Digest?
    /// The number of results after which a retry was possible.
    var attempts = 0

    /// How often sending has begun. Atomic, because the loop counts parts while threads of the pool make reports.
    let begun = Atomic<Int>(0)

    /// Whether the upload has failed and cannot be resumed, so that the server can discard what it has of it. Used on
    /// the run's loop only.
    var isGivenUp = false

    /// The largest number of bytes of this upload that the server has reported on any connection. Used on the run's
    /// loop only.
    var furthest: UInt64 = 0

    /// - Parameter hasOwnID: whether the upload keeps `id`; if false, its id is derived from the source file.
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

    /// The encrypted form of an upload.
    convenience init(_ content: Content, _ sealed: SealedUpload, of upload: PendingUpload) {
        self.init(
            content, label: upload.label, destination: SealedUpload.wirePath, kind: .file, id: sealed.id,
            hasOwnID: upload.hasOwnID, sealed: sealed)
        started = upload.started
    }

    /// Takes the id and size from the record of an earlier upload.
    func recall(_ record: SealingRecord) {
        (self.record, id, size) = (record, record.id, record.sealedSize)
    }

    /// Whether the client must ask the server about this upload before it sends it: there is a record of an earlier
    /// upload, and the server has not yet said that the upload is missing.
    var hasToBeAskedAbout: Bool { record != nil && !isUnknown }

    /// Sets the id that is derived from the source file, unless the upload has an id that is not derived from it.
    func identify(_ ids: SourceID, _ file: SourceFile.Identity?) {
        guard !hasOwnID, case .file(let place) = content, let file, file != identity else { return }
        identity = file
        id = ids.id(path: place.path.absolutePath, destination: destination, file: file)
    }

    /// - Throws: `sourceChanged` if the file is not the expected one.
    func check(_ file: SourceFile.Identity?) throws(Failure) {
        guard expected == nil || file == expected else { throw .changed }
    }

    /// Gives the upload a random id, which no other upload has.
    func takeOwnID() {
        hasOwnID = true
        id = .random()
    }

    /// Whether its id is derived from its source.
    var isIdentified: Bool { !hasOwnID }

    /// Makes an upload that is a part of another one, its end, or another step of sending it.
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

    /// The place of the file with the content; nil if the content is not in a file.
    var place: SourcePlace? {
        switch content {
        case .file(let place): place
        case .sealed(let file): file.source.place
        case .part(let split, _), .multipart(let split), .drop(let split): split.whole.place
        case .bytes, .stream, .rest: nil
        }
    }

    /// The kind of the content, by its first bytes, and the details of a picture.
    func recognised(in reader: ContentReader) -> (ContentKind, Picture?) {
        let kind =
            wantedKind
            ?? reader.front(ContentKind.sampleSize).withUnsafeBytes {
                ContentKind(recognising: $0, isWhole: $0.count < ContentKind.sampleSize)
            }
        return (kind, kind == .picture ? Picture(reader) : nil)
    }

    /// The upload in parts to which this part, end or rest belongs; nil for other uploads.
    var split: (any UploadInParts)? {
        switch content {
        case .part(let split, _), .multipart(let split): split
        case .rest(let stream): stream
        case .file, .sealed, .bytes, .stream, .drop: nil
        }
    }

    /// Whether its content comes from a file with a path.
    var isFile: Bool {
        switch content {
        case .file, .sealed: true
        case .part(let split, _), .multipart(let split), .drop(let split): split.whole.isFile
        case .bytes, .stream, .rest: false
        }
    }

    /// Whether it is a request to discard, whose outcome does not matter.
    var isDrop: Bool { if case .drop = content { true } else { false } }

    /// Whether reading the content can block until another process has written, as for a stream.
    var mayBlock: Bool {
        switch content {
        case .stream: asked == nil
        case .rest: true
        case .file, .sealed, .bytes, .part, .multipart, .drop: false
        }
    }

    /// Whether it belongs to an upload in parts that has begun.
    var isUnderWay: Bool { split != nil }

    /// Whether the server may believe that another connection is still sending it.
    var isShared: Bool { split != nil || asked != nil }

    /// Whether the same command can resume the upload with what the server has of it.
    var isResumable: Bool { (split ?? asked)?.whole.isIdentified ?? false }

    /// The upload whose report is due when this one has ended, if any. For an upload in parts, that is the whole
    /// upload, and only once.
    func takeReported() -> PendingUpload? {
        guard !isDrop else { return nil }
        guard let split = split ?? asked else { return self }
        return split.finish() ? split.whole : nil
    }
}
