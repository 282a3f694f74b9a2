package import TransferAccess
package import TransferCodec
import TransferConnection
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts

/// The answer to a request, which `RequestWorker` makes step by step. Used by one task at a time.
protocol RequestAnswer {
    /// ID of the request that this answers.
    var id: UInt32 { get }

    /// Names the request in the log.
    var subject: String { get }

    /// Whether the client wants to be notified of later deliveries.
    var watches: Bool { get }

    /// Tells when an incomplete answer can be continued; nil if it can be at once.
    var signal: (any AnswerSignal)? { get }

    /// Fills the chunk as far as possible, or does the work of one turn.
    ///
    /// - Returns: the outcome when the answer is complete; nil if it is not.
    func fill(_ chunk: AnswerChunk) throws(Failure) -> Outcome?

    /// Called before an answer that has waited is continued, with the rights that the client has now.
    ///
    /// - Throws: why the client may no longer have the answer.
    func recheck(_ caller: Caller) throws(Failure)

    /// Events to log when the answer is complete.
    func events(peer: String) -> [LogEvent]
}

extension RequestAnswer {
    var watches: Bool { false }

    var signal: (any AnswerSignal)? { nil }

    func recheck(_ caller: Caller) throws(Failure) {}

    func events(peer: String) -> [LogEvent] { [] }
}

/// The results of one step of a `RequestWorker`.
package struct RequestOutcome: Sendable {
    /// The frames that this step has made for the client.
    package var chunk: AnswerChunk

    /// What was done with the content in the chunk.
    package var compression: AnswerCompression

    /// Whether other content begins in the chunk, so that what the governor has measured no longer applies.
    package var beginsContent = false

    /// Requests whose answers are complete with this chunk.
    package var answered: [UInt32] = []

    /// Whether the worker has more to do.
    package var isBusy = false

    /// Tells when the worker can go on; nil if it can at once.
    var waits: (any AnswerSignal)?

    /// Whether the client wants to be notified of new mail from now on.
    package var watches = false

    /// Why the client may ask for nothing any more; nil if it may.
    package var refusal: Refusal?

    /// The placeholder between two steps.
    static let nothing = RequestOutcome(
        chunk: AnswerChunk(frames: 0), compression: AnswerCompression(.plain, CompressorPool()))
}

/// What a step does with the content that it sends, and its measurements.
package struct AnswerCompression: Sendable {
    /// Most bytes of one file's content in a chunk before compression; they take about 8 ms of a thread.
    static let mostContent = 1 << 20

    private let choice: CompressionGovernor.Choice
    private let compressors: CompressorPool

    /// Measurements of the methods that `choice` asks to measure; empty before they are made.
    package private(set) var figures: [CompressionFigures] = []

    /// Bytes of content that were to be compressed, and their size after compression.
    package private(set) var (before, after) = (0, 0)

    init(_ choice: CompressionGovernor.Choice, _ compressors: CompressorPool) {
        (self.choice, self.compressors) = (choice, compressors)
    }

    /// `least`: bytes of content for which another data frame is worthwhile. `most`: bytes that one frame may hold.
    func contentSizes(in chunk: AnswerChunk, usual: (least: Int, most: Int)) -> (least: Int, most: Int) {
        guard case .compress = choice else { return usual }
        guard chunk.contentCount < Self.mostContent else { return (usual.most, 0) }
        // A frame that would be far larger in the next chunk is not begun in the rest of this one.
        return (chunk.contentCount > 0 ? FrameCompressor.mostContent : usual.least, FrameCompressor.mostContent)
    }

    /// Compresses the data frame that was just appended to the chunk, or measures compression.
    mutating func apply(to content: UnsafeRawBufferPointer, in chunk: AnswerChunk) {
        switch choice {
        case .plain: break
        case .plainMeasuring(let methods, let bytes):
            if figures.isEmpty { figures = compressors.measure(methods, with: content, bytes: bytes) }
        case .compress(let method):
            before += content.count
            after += compressors.lend(method) { compressor in
                guard let body = compressor.compress(content) else { return content.count }
                chunk.replaceData(by: body, method.format.encoding)
                return body.count
            }
        }
    }
}

/// The answer to a `compare`: looks at some files in each turn, because a folder can have any number of them.
final class FolderAnswer: RequestAnswer {
    /// What the client's digest is compared with.
    enum Subject {
        /// Uploads that were acknowledged, by the catalog.
        case uploads(FolderComparison, isDurable: Bool)
        /// Entries of the folder on disk.
        case entries(any StoredListing)
    }

    private let request: CompareRequest
    private let compared: Subject
    private var entries = FolderDigester()
    private var isSame = false

    /// Files and folders that are looked at in one turn.
    private static let entriesAtOnce = 512

    init(_ request: CompareRequest, _ subject: Subject) {
        (self.request, compared) = (request, subject)
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    func fill(_ chunk: AnswerChunk) throws(Failure) -> Outcome? {
        guard chunk.takesMessage, let isSame = try step() else { return nil }
        self.isSame = isSame
        guard isSame else { return Outcome(id: id, code: .completed) }
        var isDurable = false
        if case .uploads(_, let durable) = compared { isDurable = durable }
        return Outcome(id: id, code: .alreadyStored, isDurable: isDurable, count: UInt64(request.digest.count))
    }

    /// - Returns: whether both digests are the same; nil while that is not known.
    private func step() throws(Failure) -> Bool? {
        switch compared {
        case .uploads(let comparison, _): return comparison.step()
        case .entries(let listing):
            let found = try listing.forEach(Self.entriesAtOnce) { name, attributes in entries.add(name, attributes) }
            guard found < Self.entriesAtOnce else { return entries.count > request.digest.count ? false : nil }
            // Entries without a valid path are not in the digest, and a client cannot have them. A folder with such
            // entries never counts as equal.
            return listing.unlisted == 0 && entries.digest == request.digest
        }
    }

    func events(peer: String) -> [LogEvent] {
        guard isSame, case .uploads = compared else { return [] }
        return [.alreadyStored(Int(clamping: request.digest.count), peer: peer)]
    }
}

/// The answer to a `list`: reads a folder page by page. Used by one task at a time.
final class FolderListing {
    let request: ListRequest
    private let listing: (any StoredListing)?
    private let known: KnownUploads
    /// Trash batches that are not listed yet.
    private var batches: ArraySlice<TrashBatch> = []
    private var waiting: ArraySlice<ListedEntry> = []

    /// Number of entries sent so far.
    private(set) var count: UInt64 = 0

    /// Number of entries that are left out because their names are not valid in paths.
    var unlisted: UInt64 { listing?.unlisted ?? 0 }

    /// Entries that are looked up together; each page is one query of the catalog.
    private static let pageSize = 128

    /// - Parameter listing: nil for a folder that does not exist yet.
    init(_ request: ListRequest, _ listing: (any StoredListing)?, _ known: KnownUploads) {
        (self.request, self.listing, self.known) = (request, listing, known)
    }

    /// Answers a question about one path.
    init(_ request: ListRequest, about entry: ListedEntry, _ known: KnownUploads) {
        (self.request, listing, self.known) = (request, nil, known)
        waiting = [entry]
    }

    /// Answers a question about the trash itself.
    init(_ request: ListRequest, _ batches: [TrashBatch], _ known: KnownUploads) {
        (self.request, listing, self.known) = (request, nil, known)
        self.batches = batches[...]
    }

    /// Fills the chunk as far as possible.
    ///
    /// - Returns: whether the answer is complete.
    func fill(_ chunk: AnswerChunk) throws(Failure) -> Bool {
        while chunk.takesMessage {
            if waiting.isEmpty { waiting = try nextPage()[...] }
            guard !waiting.isEmpty else { return true }
            chunk.append(.entries(Entries(id: request.id, takeFrame())))
        }
        return false
    }

    private func takeFrame() -> [ListedEntry] {
        var room = Entries.room
        let frame = waiting.prefix { entry in
            room -= entry.encodedSize
            return room >= 0
        }
        waiting = waiting.dropFirst(frame.count)
        count += UInt64(frame.count)
        return Array(frame)
    }

    private func nextPage() throws(Failure) -> [ListedEntry] {
        if !batches.isEmpty {
            defer { batches = batches.dropFirst(Self.pageSize) }
            return batches.prefix(Self.pageSize).map { ListedEntry($0) }
        }
        guard !request.wantsAll else { return try nextWholePage() }
        guard let page = try listing?.next(Self.pageSize), !page.isEmpty else { return [] }
        let details = request.wantsDetails ? known.details(of: page.map { ($0.path, $0.attributes) }) : []
        return page.enumerated().map { index, entry in
            ListedEntry(
                String(entry.path.name), entry.attributes, details.indices.contains(index) ? details[index] : nil)
        }
    }
}

extension FolderListing {
    private func nextWholePage() throws(Failure) -> [ListedEntry] {
        guard let page = try listing?.nextWhole(Self.pageSize), !page.isEmpty else { return [] }
        let details = request.wantsDetails ? known.details(of: page.map { ($0.path, $0.attributes) }) : []
        return page.enumerated().map { index, entry in
            ListedEntry(entry, details.indices.contains(index) ? details[index] : nil)
        }
    }
}

extension ListedEntry {
    /// A trash batch, shown as a folder. Its time is in its name.
    init(_ batch: TrashBatch) {
        self.init(
            .directory, name: batch.name, size: 0, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o700)
    }

    /// - Parameter known: its entry in the catalog; nil if it has none.
    init(_ entry: WholeEntry, _ known: CatalogEntry?) {
        self.init(String(entry.path.name), entry.attributes, known)
        if entry.target != nil { form = .symbolicLink }
        extras = Extras(
            names: entry.names, attributes: entry.extra, target: entry.target ?? [], isPartial: entry.isPartial)
    }

    /// - Parameter known: its entry in the catalog; nil if it has none.
    init(_ name: String, _ attributes: StoredAttributes, _ known: CatalogEntry?) {
        self.init(
            attributes.isDirectory ? .directory : .file, name: name, size: attributes.size,
            modified: attributes.modified, permissions: attributes.permissions, version: attributes.fileVersion,
            kind: known?.kind ?? .file, digest: known?.digest,
            stored: known.map { $0.committed / 1_000_000 })
    }
}

extension KnownUploads {
    /// Entries of the catalog for files; an entry counts only if the file still has the version that was acknowledged.
    func details(of files: [(path: RelativePath, attributes: StoredAttributes)]) -> [CatalogEntry?] {
        zip(files, entries(at: files.map(\.path.string))).map { file, entries in
            entries.last { $0.version == file.attributes.version }
        }
    }
}
