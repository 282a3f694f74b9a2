import TransferCodec
import TransferIntake
import TransferMail
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// The answer to a `fetch`: reads a file, digests it and makes frames of it. `RequestWorker` makes one for each request and lets it fill a
/// chunk of frames in each turn, until content and digest are complete. Used by one thread at a time.
final class FileSending {
    let request: FetchRequest

    /// Path in the server's directory; for a delivery, the name that its sender gave it.
    let path: RelativePath

    /// Nanoseconds of the monotonic clock.
    let started = monotonicNanoseconds()

    /// Bytes of the complete content.
    var size: UInt64 { content.attributes.size }

    /// The delivery whose content this is; nil for a stored file.
    let delivery: Delivery?

    /// What to record of the file if it turns out to be rotten; nil for a delivery, or if the catalog has no digest.
    var suspect: RottenFile? {
        guard delivery == nil else { return nil }
        return known.map { RottenFile(version: content.attributes.version, digest: $0) }
    }

    private let content: any ReadableContent
    private let digester: ContentDigester
    /// The catalog's digest of the whole content; nil if the catalog has none.
    private let known: Digest?
    /// Offset of the first byte to send.
    private let first: UInt64
    /// Offset behind the last byte to send.
    private let end: UInt64
    /// Offset of the next byte to send.
    private var offset: UInt64
    /// Bytes that are still to be digested without being sent: those before `first`, which the client has already, or those of a second
    /// reading.
    private var prefix: UInt64
    /// Whether the content is read again, because the first reading gave another digest than the known one.
    private var isReadAgain = false
    /// Bytes outside holes; nil if the file has no holes or the client does not take them.
    private let filled: UInt64?

    /// Bytes of content that are worth another frame header.
    private static let leastData = 4 << 10

    /// Bytes that are only digested in one turn; this takes some milliseconds.
    static let prefixStep: UInt64 = 16 << 20

    /// Bytes of holes that are sent in one turn, for the same reason.
    private static let holeStep: UInt64 = 16 << 20

    /// Bytes of frames for a hole and the digest of a block.
    private static let holeRoom = 128
    private static let readSize = 256 << 10

    /// - Parameters:
    ///   - known: the digest of the current content, if it is known.
    ///   - digester: must be reset.
    ///   - takesHoles: whether the client accepts holes.
    ///   - delivery: the delivery whose content this is; nil for a stored file.
    init(
        _ request: FetchRequest, _ path: RelativePath, _ content: any ReadableContent, known: Digest?,
        digester: ContentDigester, takesHoles: Bool, delivery: Delivery? = nil
    ) {
        filled = takesHoles ? content.filled : nil
        (self.request, self.path, self.content, self.known) = (request, path, content, known)
        (self.digester, self.delivery) = (digester, delivery)
        let attributes = content.attributes
        let goesOn = attributes.fileVersion == request.version && request.offset <= attributes.size
        let start = goesOn ? request.offset : 0
        (first, offset) = (start, start)
        end = request.length.map { min(attributes.size, start + $0) } ?? attributes.size
        prefix = known == nil && request.length == nil ? start : 0
        if attributes.size > UInt64(Limits.blockSize) { content.expectAll() }
    }

    /// Whether the file still has the version of which the client wants a part.
    var isWanted: Bool { request.length == nil || content.attributes.fileVersion == request.version }

    /// Whether the sent range ends with the content.
    var isLast: Bool { end == size }

    /// Bytes that `end` states: of the whole, or of the part that was requested.
    var endSize: UInt64 { request.length == nil ? size : end - first }

    /// The frame before the content, which describes it.
    var beginning: FetchedFile {
        let attributes = content.attributes
        return FetchedFile(
            id: request.id, permissions: attributes.permissions, size: size, modified: attributes.modified,
            version: attributes.fileVersion, offset: first, filled: filled)
    }

    /// Fills the chunk as far as possible, or digests content that is not sent.
    ///
    /// - Parameter compression: what is done with the content.
    /// - Returns: the digest for `end` when everything is sent; nil if another chunk is needed.
    /// - Throws: `fileChanged`; `digestMismatch` if only the first reading gave other content, such as by a damaged answer of a bucket;
    ///   `contentLost` if the content is no longer what was acknowledged.
    func fill(_ chunk: AnswerChunk, _ compression: inout AnswerCompression) throws(Failure) -> Digest? {
        guard prefix == 0 else {
            try digestPrefix()
            return nil
        }
        var holes: UInt64 = 0
        while offset < end {
            let run = filled == nil ? .data : content.run(at: offset)
            let inBlock = UInt64(Limits.blockSize) - offset % UInt64(Limits.blockSize)
            guard !run.isHole else {
                guard holes < Self.holeStep, chunk.room >= Self.holeRoom else { return nil }
                holes += sendHole(min(run.count, end - offset, inBlock, UInt64(Limits.dataBody)), in: chunk)
                continue
            }
            let sizes = compression.contentSizes(in: chunk, usual: (Self.leastData, Limits.dataBody))
            let rest = min(run.count, end - offset, inBlock, UInt64(sizes.most))
            guard rest > 0, chunk.room >= min(Int(rest), sizes.least) else { return nil }
            try send(min(Int(rest), chunk.room), in: chunk, &compression)
        }
        return try finish()
    }

    private func send(
        _ length: Int, in chunk: AnswerChunk, _ compression: inout AnswerCompression
    ) throws(Failure) {
        let bytes = try chunk.appendData(length) { (place) throws(Failure) in try content.read(into: place, at: offset)
        }
        guard let bytes else { throw changed }
        let block = take(bytes)
        compression.apply(to: bytes, in: chunk)
        if let block { chunk.append(block) }
    }

    /// - Returns: the number of zeros that the hole has.
    private func sendHole(_ count: UInt64, in chunk: AnswerChunk) -> UInt64 {
        let zeros = ZeroBytes.prefix(Int(count))
        chunk.append(Hole(count: zeros.count))
        if let block = take(zeros) { chunk.append(block) }
        return UInt64(zeros.count)
    }

    /// Digests content that is sent.
    ///
    /// - Returns: the message with the digest of the block that these bytes complete; nil if they complete none.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Message? {
        offset += UInt64(bytes.count)
        var finished: [UInt8]?
        digester.update(bytes) { _, digest in finished = digest }
        guard let finished, size > UInt64(Limits.blockSize) else { return nil }
        let digest = Digest(request.digest.plain, finished)
        return .block(BlockDigest(index: offset / UInt64(Limits.blockSize) - 1, digest: digest))
    }

    /// Digests content from its beginning without sending it.
    private func digestPrefix() throws(Failure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let end = digester.size + min(prefix, Self.prefixStep)
        while digester.size < end {
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int(min(end - digester.size, UInt64(buffer.count)))])
            guard try content.read(into: piece, at: digester.size) == piece.count else { throw changed }
            digester.update(UnsafeRawBufferPointer(piece)) { _, _ in }
            prefix -= UInt64(piece.count)
        }
    }

    /// - Returns: the digest; nil if the content has to be read again.
    private func finish() throws(Failure) -> Digest? {
        guard content.isUnchanged else { throw changed }
        guard request.length == nil else { return digester.finish().digest }
        // If the content before `first` was not digested, the digester does not have the digest of the whole.
        guard known == nil || first == 0 else { return known ?? digester.finish().digest }
        let digest = digester.finish().digest
        guard let known else { return digest }
        guard isReadAgain else {
            if known == digest { return digest }
            isReadAgain = true
            digester.reset()
            prefix = size
            return nil
        }
        throw known == digest ? .misread(path) : .contentLost(path)
    }

    private var changed: Failure { Failure(.fileChanged, "\(path) changed while it was read.") }
}

extension Failure {
    /// The content is there, and was read wrongly once.
    static func misread(_ path: RelativePath) -> Failure {
        Failure(.digestMismatch, "\(path) was read with other content than a second time. Fetch it again.")
    }
}

extension LogEvent {
    static func fetched(_ sending: FileSending, _ digest: Digest, peer: String) -> LogEvent {
        let (path, size) = (sending.path.string, sending.size)
        guard sending.request.length == nil else {
            // A long file is sent in hundreds of parts; only the last one is logged at this level.
            return LogEvent(
                sending.isLast ? .info : .debug, "fetched", "sent \(path.escapedForDisplay), \(size) bytes in parts",
                [("path", .string(path)), ("size", .unsigned(size)), ("peer", .string(peer))])
        }
        let seconds = Double(monotonicNanoseconds() - sending.started) / 1e9
        return LogEvent(
            .info, "fetched",
            "sent \(path.escapedForDisplay), \(size) bytes in \(seconds.shown(decimals: 3)) s, \(digest)",
            [
                ("path", .string(path)), ("size", .unsigned(size)), ("seconds", .number(seconds)),
                ("digest", .string(digest.description)), ("peer", .string(peer)),
            ])
    }

    static func listed(_ path: String, _ count: UInt64, peer: String) -> LogEvent {
        LogEvent(
            .debug, "listed", "listed \(path.isEmpty ? "the folder" : path.escapedForDisplay), \(count) entries",
            [("path", .string(path)), ("count", .unsigned(count)), ("peer", .string(peer))])
    }

    static func removed(_ path: String, _ files: UInt64, peer: String) -> LogEvent {
        LogEvent(
            .info, "removed", "removed \(path.escapedForDisplay), \(files) file\(files == 1 ? "" : "s")",
            [("path", .string(path)), ("count", .unsigned(files)), ("peer", .string(peer))])
    }

    static func discarded(_ path: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "discarded", "put \(path.escapedForDisplay) into the trash",
            [("path", .string(path)), ("peer", .string(peer))])
    }

    /// Something was made, moved or put into the trash.
    static func changed(_ request: Request, peer: String) -> LogEvent {
        if case .remove(let remove) = request { return .discarded(remove.path, peer: peer) }
        let path = request.path.escapedForDisplay
        let (name, message) =
            switch request {
            case .move(let move): ("moved", "moved \(path) to \(move.target.escapedForDisplay)")
            default: ("made", "made \(path), or changed its attributes")
            }
        return LogEvent(.info, name, message, [("path", .string(request.path)), ("peer", .string(peer))])
    }

    /// - Parameter isRepeated: whether the same failure of this client was logged before.
    static func requestFailed(_ path: String, _ error: Failure, peer: String, isRepeated: Bool) -> LogEvent {
        let event = LogEvent(
            isRepeated ? .debug : .warning, "requestFailed",
            "\(error.code) \(path.escapedForDisplay): \(error.message.escapedForDisplay)",
            [
                ("result", .string(error.code.name)), ("path", .string(path)), ("message", .string(error.message)),
                ("peer", .string(peer)),
            ])
        return isRepeated ? event : event.asClientsFault
    }
}
