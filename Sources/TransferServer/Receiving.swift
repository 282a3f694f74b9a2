import TransferCodec
import TransferProtocol
import TransferStore

/// The upload that a lane is receiving: its bytes go to the staged file and through the digest as they come.
final class Receiving {
    let begin: Begin

    /// Nanoseconds of the monotonic clock.
    let started: Int64

    /// The acknowledgement that this id already has: then nothing is stored, only compared.
    private(set) var earlier: UploadResult?

    private let context: ServerContext
    private let digester: ContentDigester
    private let inflation: Inflation
    private var path: RelativePath?
    private var staged: StagedFile?
    private var lastBlock: (index: UInt64, digest: [UInt8])?

    /// Bytes of content taken in.
    var size: UInt64 { digester.size }

    /// - Parameter digester: reset; the lane's, used by one upload at a time.
    init(_ begin: Begin, started: Int64, context: ServerContext, digester: ContentDigester, inflation: Inflation) {
        self.begin = begin
        self.started = started
        self.context = context
        self.digester = digester
        self.inflation = inflation
    }

    /// Whether the content has, or may have, more than one block. Short uploads are over as soon as they have begun.
    var isLong: Bool { begin.size.map { $0 > UInt64(Limits.blockSize) } ?? true }

    private var limit: UInt64 { context.configuration.maximumUpload }

    /// Checks what can be known before the content.
    ///
    /// - Returns: the result, when the upload is over already.
    func admit() throws(StoreError) -> UploadResult? {
        let path = try checkedPath()
        self.path = path
        if let size = begin.size, size > limit { throw tooLarge }
        earlier = context.recent[begin.id].flatMap(stillHolding)
        if let earlier { return begin.expectsAccept ? earlier : nil }
        guard begin.expectsAccept || begin.conflict != .keepBoth else { return nil }
        guard try context.store.admit(path, size: begin.size, conflict: begin.conflict) == .skipped else {
            if isLong { try open() }
            return nil
        }
        return UploadResult(id: begin.id, code: .skipped, message: "\(path) was there already.")
    }

    private func checkedPath() throws(StoreError) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try RelativePath(begin.path)
        } catch {
            throw StoreError(.invalidPath, error.message)
        }
    }

    /// The acknowledgement again, if its file is still there. It names the file unless that is where `begin` wants it.
    private func stillHolding(_ entry: RecentResults.Entry) -> UploadResult? {
        guard let stored = try? RelativePath(entry.path), context.store.holds(stored, size: entry.result.size) else {
            return nil
        }
        var result = entry.result
        result.storedPath = stored == path ? nil : stored.string
        return result
    }

    private var tooLarge: StoreError { StoreError(.uploadTooLarge, "The server takes no more than \(limit) bytes.") }

    /// Makes the file to write to, where the bytes are wanted at all.
    private func open() throws(StoreError) {
        guard earlier == nil, staged == nil else { return }
        staged = try context.store.stage(id: begin.id, size: begin.size, permissions: begin.permissions)
    }

    func take(_ piece: DataPiece, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        switch piece.encoding {
        case .stored: try take(bytes)
        case .zlib: try inflation.inflate(piece, bytes) { (inflated) throws(StoreError) in try take(inflated) }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        guard !bytes.isEmpty else { return }
        let offset = size
        let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, end <= begin.size ?? end else {
            throw StoreError(.sizeMismatch, "More than the declared \(begin.size ?? 0) bytes arrived.")
        }
        guard end <= limit else { throw tooLarge }
        digester.update(bytes) { lastBlock = ($0, $1) }
        try open()
        try staged?.write(bytes, at: offset)
    }

    func check(_ block: BlockDigest) throws(StoreError) {
        guard let lastBlock, lastBlock.index == block.index, block.digest.algorithm.function == begin.digest,
            lastBlock.digest == block.digest.bytes
        else { throw StoreError(.digestMismatch, "Block \(block.index) arrived with another digest than declared.") }
    }

    /// Compares what arrived with what the client declared.
    ///
    /// - Returns: what to publish, or nothing when the id already has its acknowledgement and the content is the same.
    func finish(_ end: End) throws(StoreError) -> Publication? {
        guard end.size == size, size == begin.size ?? size else {
            throw StoreError(.sizeMismatch, "\(size) bytes arrived; \(begin.size ?? end.size) were declared.")
        }
        let digest = digester.finish().digest
        guard digest == end.digest else {
            throw StoreError(
                .digestMismatch, "The content arrived with the digest \(digest); \(end.digest) was declared.")
        }
        if let earlier {
            guard earlier.size == size, earlier.digest == digest else {
                throw StoreError(.contentMismatch, "The upload id was used for other content.")
            }
            return nil
        }
        try open()
        guard let staged, let path else { preconditionFailure("an admitted upload has its path and its file") }
        self.staged = nil
        return Publication(
            staged: staged, id: begin.id, path: path, size: size, digest: digest, conflict: begin.conflict,
            modified: begin.modified, permissions: begin.permissions)
    }

    /// Throws away what was received.
    func discard() {
        staged?.discard()
        staged = nil
    }
}
