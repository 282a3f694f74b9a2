import TransferClassic
import TransferCodec
import TransferModel
import TransferSystem

/// Reads the content of one upload for a classic framing in pieces. Called on the pool.
///
/// `@unchecked Sendable`: the session gives it to one job of the pool at a time, and uses it in between.
final class ClassicSource: @unchecked Sendable {
    private enum Origin {
        case whole(ContentReader)
        case stream(BlockStream)
    }

    /// The outcome of one turn of reading.
    enum Step {
        /// There is nothing to send yet.
        case more
        /// There is nothing to send, and all blocks of the stream are in use.
        case noRoom
        /// The next piece; empty only at the end.
        case piece([UInt8], isLast: Bool)
    }

    let upload: PendingUpload

    /// The size in bytes; nil if it is known only at the end.
    let size: UInt64?

    /// The kind of content; nil if the content was not examined.
    let kind: ContentKind?

    /// Whether the content can be read again from the beginning.
    var isRepeatable: Bool { if case .whole = origin { true } else { !hasBegun } }

    private let origin: Origin
    private var hasBegun = false
    /// The number of bytes that were read.
    private(set) var count: UInt64 = 0
    /// The block of a stream of which a part is still unsent, and the position of that part.
    private var rest: (block: StreamBlock, position: Int)?
    private let hasher: BlockHasher?
    private let pieceSize: Int

    /// The most bytes of a piece, unless the limit of the framing is lower. Pieces of this size need few calls and
    /// little memory.
    private static let longestPiece = 256 << 10

    /// Opens the source.
    ///
    /// - Parameter pending: the upload. If the framing states the size first, it must not be a stream; see
    ///   `HeldStream`.
    /// - Throws: `sourceUnreadable`, `sourceSkipped`.
    init(_ pending: PendingUpload, _ target: ClassicTarget) throws(Failure) {
        upload = pending
        pieceSize = min(target.client.longestPiece ?? .max, Self.longestPiece)
        hasher = target.client.hasDigests ? BlockHasher(.sha256) : nil
        upload.started = monotonicNanoseconds()
        if case .stream(let stream) = upload.content {
            (origin, size, kind) = (.stream(stream), nil, upload.wantedKind)
            upload.kind = kind ?? .file
            return
        }
        let reader = try ContentReader(upload.content)
        (origin, size) = (.whole(reader), reader.size)
        let found = Self.recognise(upload, reader)
        kind = found
        (upload.kind, upload.size, upload.file) = (found, reader.size, reader.file)
        upload.picture = found == .picture ? Picture(reader) : nil
    }

    private static func recognise(_ upload: PendingUpload, _ reader: ContentReader) -> ContentKind {
        upload.wantedKind
            ?? reader.front(ContentKind.sampleSize).withUnsafeBytes {
                ContentKind(recognising: $0, isWhole: $0.count < ContentKind.sampleSize)
            }
    }

    /// Reads the next piece; from a stream, for at most one turn of `BlockStream`. The last piece of a file is returned
    /// only if the file has not changed since it was opened, because with the last byte the server has the whole
    /// upload.
    ///
    /// - Throws: `sourceChanged`, `sourceUnreadable`.
    func next() throws(Failure) -> Step {
        hasBegun = true
        switch origin {
        case .whole(let reader): return given(try read(reader))
        case .stream(let stream): return try read(stream)
        }
    }

    private func given(_ piece: [UInt8]) -> Step {
        count += UInt64(piece.count)
        piece.withUnsafeBytes { hasher?.update($0) }
        return .piece(piece, isLast: size.map { count == $0 } ?? piece.isEmpty)
    }

    /// The digest of everything that was read, which the end of the upload states; nil if the framing has no digests.
    func digest() -> [UInt8]? { hasher?.finish() }

    private func read(_ reader: ContentReader) throws(Failure) -> [UInt8] {
        let wanted = min(UInt64(pieceSize), (size ?? .max) - count)
        var failure: Failure?
        let piece = [UInt8](unsafeUninitializedCapacity: Int(wanted)) { space, filled in
            do throws(Failure) {
                let room = UnsafeMutableRawBufferPointer(space)
                filled = try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: room[..<Int(wanted)]))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard piece.count == Int(wanted) else { throw .changed }
        if size == count + wanted { try reader.checkUnchanged() }
        return piece
    }

    private func read(_ stream: BlockStream) throws(Failure) -> Step {
        if let (block, position) = rest { return piece(of: block, from: position) }
        switch try stream.read() {
        case .more: return .more
        case .noRoom: return .noRoom
        case .block(let block), .end(let block?): return piece(of: block, from: 0)
        case .end(nil): return given([])
        }
    }

    private func piece(of block: StreamBlock, from position: Int) -> Step {
        let end = min(position + pieceSize, block.count)
        rest = end < block.count ? (block, end) : nil
        return given(Array(block.bytes[position..<end]))
    }
}
