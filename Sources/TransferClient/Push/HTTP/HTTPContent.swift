import TransferCodec
import TransferModel
import TransferSystem

/// The content of one upload over HTTP, read from any available offset and digested once, in order. Called on the pool.
///
/// `@unchecked Sendable`: the session gives it to one job of the pool at a time, and uses it in between.
final class HTTPContent: @unchecked Sendable {
    /// The outcome of one turn of reading.
    enum Step {
        /// There is nothing to return yet.
        case more
        /// There is nothing to return, and all blocks of the stream are in use.
        case noRoom
        case piece([UInt8], isLast: Bool)
    }

    private enum Origin {
        case file(SourcePlace, SourceFile.Identity)
        case bytes([UInt8])
        case stream(BlockStream)
    }

    let upload: PendingUpload

    /// The size in bytes; nil if it is known only at the end.
    let size: UInt64?

    private let origin: Origin
    /// The open file, and the offset up to which it was read.
    private var open: (file: SourceFile, next: UInt64)?
    /// The latest piece of a stream, and its offset.
    private var held: (start: UInt64, bytes: [UInt8], isLast: Bool) = (0, [], false)
    private let hasher = BlockHasher(.sha256)
    /// The number of bytes that were digested.
    private(set) var digested: UInt64 = 0
    private var finished: [UInt8]?

    /// Opens the source.
    ///
    /// - Throws: `sourceUnreadable`, `sourceSkipped`.
    init(_ pending: PendingUpload) throws(Failure) {
        upload = pending
        upload.started = monotonicNanoseconds()
        switch pending.content {
        case .stream(let stream):
            (origin, size) = (.stream(stream), nil)
            upload.kind = upload.wantedKind ?? .file
        case .file(let place):
            let file = try SourceFile(place)
            try pending.check(file.identity)
            (origin, size, open) = (.file(place, file.identity), file.size, (file, 0))
            recognise(ContentReader(file))
        default:
            let reader = try ContentReader(pending.content)
            let bytes = try Self.all(reader)
            (origin, size) = (.bytes(bytes), UInt64(bytes.count))
            recognise(try ContentReader(pending.content))
        }
    }

    /// Reads all content, which is in memory already.
    private static func all(_ reader: ContentReader) throws(Failure) -> [UInt8] {
        guard let size = reader.size, let count = Int(exactly: size) else { return [] }
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            do throws(Failure) {
                filled = try reader.read(into: UnsafeMutableRawBufferPointer(space))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    private func recognise(_ reader: ContentReader) {
        let front = reader.front(ContentKind.sampleSize)
        let found =
            upload.wantedKind
            ?? front.withUnsafeBytes { ContentKind(recognising: $0, isWhole: $0.count < ContentKind.sampleSize) }
        (upload.kind, upload.size, upload.file) = (found, reader.size, reader.file)
        upload.picture = found == .picture ? Picture(reader) : nil
    }

    /// The media type of the content (RFC 6838).
    var mediaType: String {
        switch upload.kind {
        case .picture: upload.picture.map { "image/\($0.format.rawValue)" } ?? "application/octet-stream"
        case .text: "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }

    /// The file with the content; nil if the content is not in a file.
    var file: (path: String, identity: SourceFile.Identity)? {
        if case .file(let place, let identity) = origin { (place.path, identity) } else { nil }
    }

    /// Whether the content can be read again from the beginning.
    var isRepeatable: Bool { if case .stream = origin { held.start == 0 } else { true } }

    /// The SHA-256 of the content; nil until all of it was read.
    var sha256: [UInt8]? {
        if let finished { return finished }
        guard let size = size ?? upload.size, digested == size else { return nil }
        finished = hasher.finish()
        return finished
    }
}

// MARK: Reading

extension HTTPContent {
    /// Reads a piece. The last piece of a file is only returned if the file has not changed since it was opened.
    ///
    /// - Parameters:
    ///   - offset: the position of the piece; in a stream, not before the start of the latest piece.
    ///   - most: the most bytes of the piece; from a stream, a whole block is returned anyway.
    /// - Throws: `sourceChanged`, `sourceUnreadable`, or `connectionLost` if a part of a stream is gone.
    func piece(at offset: UInt64, most: Int) throws(Failure) -> Step {
        switch origin {
        case .bytes(let bytes):
            guard let start = Int(exactly: offset), start <= bytes.count else { throw .connectionLost }
            let end = start + min(most, bytes.count - start)
            return given(Array(bytes[start..<end]), at: offset, isLast: end == bytes.count)
        case .file(let place, let identity):
            let piece = try read(place, identity, offset, most)
            return given(piece, at: offset, isLast: offset + UInt64(piece.count) == identity.size)
        case .stream(let stream): return try read(stream, offset)
        }
    }

    private func given(_ bytes: [UInt8], at offset: UInt64, isLast: Bool) -> Step {
        let end = offset + UInt64(bytes.count)
        if offset <= digested, end > digested {
            // Digest only the bytes that were not digested before.
            bytes.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[Int(digested - offset)...])) }
            digested = end
        }
        return .piece(bytes, isLast: isLast)
    }

    private func read(
        _ place: SourcePlace, _ identity: SourceFile.Identity, _ offset: UInt64, _ most: Int
    ) throws(Failure) -> [UInt8] {
        guard offset <= identity.size else { throw .connectionLost }
        let file: SourceFile
        if let open, open.next == offset {
            file = open.file
        } else {
            file = try SourceFile(place, range: offset..<identity.size)
            guard file.identity == identity else { throw .changed }
        }
        let wanted = Int(min(UInt64(most), identity.size - offset))
        var failure: Failure?
        let piece = [UInt8](unsafeUninitializedCapacity: wanted) { space, filled in
            do throws(Failure) {
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(space)[..<wanted])
                filled = try file.read(into: room)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard piece.count == wanted else { throw .changed }
        let end = offset + UInt64(wanted)
        open = (file, end)
        if end == identity.size { try file.checkUnchanged() }
        return piece
    }

    private func read(_ stream: BlockStream, _ offset: UInt64) throws(Failure) -> Step {
        let end = held.start + UInt64(held.bytes.count)
        guard offset >= held.start, offset <= end else { throw .connectionLost }
        guard offset == end, !held.isLast else {
            return given(Array(held.bytes[Int(offset - held.start)...]), at: offset, isLast: held.isLast)
        }
        switch try stream.read() {
        case .more: return .more
        case .noRoom: return .noRoom
        case .block(let block): held = (offset, Array(block.bytes), false)
        case .end(let block):
            held = (offset, block.map { Array($0.bytes) } ?? [], true)
            upload.size = offset + UInt64(held.bytes.count)
        }
        return given(held.bytes, at: offset, isLast: held.isLast)
    }
}
