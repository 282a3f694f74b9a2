import TransferProtocol

/// One upload from the moment it is found to the moment it has its report. Tried again, it keeps its id, unless its source
/// has changed.
///
/// `@unchecked Sendable`: belongs to one place at a time: the feed, then the producer that reads it, then the session
/// that waits for its result.
final class PendingUpload: @unchecked Sendable {
    /// Where the bytes come from.
    enum Content {
        case file(path: String, followsLinks: Bool)
        case bytes([UInt8])
        case stream(ReplayableStream)
        /// Some bytes of a long file.
        case part(SplitUpload, Range<UInt64>)
        /// What ends a long file, when all its parts are there.
        case assembly(SplitUpload)
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

    /// Not to be derived from the source: another upload has that id.
    private var hasOwnID: Bool

    /// What is known of it in parts, when the server has to be asked again.
    var asked: SplitUpload?

    // Filled in by the producer before it hands the upload over; afterwards the session may be reading them.
    var kind = ContentKind.file
    var size: UInt64?
    var started: Int64 = 0
    /// Of the content, when all of it is in one chunk.
    var digest: Digest?
    var attempts = 0

    /// - Parameter hasOwnID: whether the id stays, whatever the source is.
    init(
        _ content: Content, label: String, destination: String, kind: ContentKind?, id: UploadID = .random(),
        hasOwnID: Bool = true
    ) {
        self.id = id
        self.content = content
        self.label = label
        self.destination = destination
        wantedKind = kind
        self.hasOwnID = hasOwnID
    }

    /// Takes the id that its source gives it.
    func identify(_ ids: SourceID, _ reader: ContentReader) {
        guard !hasOwnID, case .file(let path, _) = content, let file = reader.file else { return }
        id = ids.id(path: path.absolutePath, destination: destination, file: file)
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
        self.init(content, label: whole.label, destination: whole.destination, kind: whole.kind, id: id)
        kind = whole.kind
    }

    /// What it is a part or the end of.
    var split: SplitUpload? {
        switch content {
        case .part(let split, _), .assembly(let split): split
        case .file, .bytes, .stream: nil
        }
    }

    /// Whether the server may take it for another connection's.
    var isShared: Bool { split != nil || asked != nil }

    /// Whether what the server has of it is found again by the same command.
    var isResumable: Bool { (split ?? asked)?.whole.isIdentified ?? false }

    /// What to report when this has come to an end: of a file in parts, only the first end counts, and it is the whole
    /// that is reported.
    func takeReported() -> PendingUpload? {
        guard let split else { return self }
        return split.finish() ? split.whole : nil
    }
}

/// A stream whose first bytes are kept, so that a short one can be sent again after a lost connection.
final class ReplayableStream {
    /// Bytes kept: one block. A longer stream cannot be sent again from the front.
    private static let limit = Limits.blockSize

    private let source: any ByteSource
    private var kept: [UInt8] = []
    private var isKept = true
    private var position = 0
    /// A terminal can be read again after its end; a stream that ended once has ended.
    private var hasEnded = false

    init(_ source: any ByteSource) {
        self.source = source
    }

    /// Goes back to the front.
    ///
    /// - Returns: false when too much was read for that.
    func rewind() -> Bool {
        position = 0
        return isKept
    }

    /// Whether the next read may have to wait for the source.
    var mayBlock: Bool { position == kept.count && !hasEnded }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if isKept, position < kept.count {
            let count = min(buffer.count, kept.count - position)
            buffer.copyBytes(from: kept[position..<position + count])
            position += count
            return count
        }
        guard !hasEnded else { return 0 }
        let count = max(0, min(try source.read(into: buffer), buffer.count))
        hasEnded = count == 0
        keep(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        return count
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) {
        guard isKept else { return }
        guard kept.count + bytes.count <= Self.limit else {
            isKept = false
            kept = []
            position = 0
            return
        }
        kept.append(contentsOf: bytes)
        position = kept.count
    }
}
