import TransferModel
import TransferSystem

/// Reads the content of one upload, from a file or from memory.
final class ContentReader {
    private enum Origin {
        case file(SourceFile)
        case bytes([UInt8], position: Int)
        case block(StreamBlock, position: Int)
        case sealed(SealedReader)
        case nothing
    }

    private var origin: Origin

    /// Bytes of content; nil if the size is not known before the end.
    let size: UInt64?

    /// - Throws: `sourceUnreadable` or `sourceSkipped`; for a part of a file, why the file cannot be read.
    convenience init(_ content: PendingUpload.Content) throws(Failure) {
        switch content {
        case .file(let place): self.init(try SourceFile(place))
        case .sealed(let file): self.init(copying: try file.open(0..<file.size))
        case .part(let split, let range): self.init(copying: try split.reader(of: range))
        case .multipart(let split): self.init(copying: try split.readerOfEnd())
        case .drop(let split): self.init(size: split.knownSize ?? 0)
        case .bytes(let bytes): self.init(.bytes(bytes, position: 0), size: UInt64(bytes.count))
        // A stream is read block by block, and each block has its own reader.
        case .stream, .rest: self.init(size: nil)
        }
    }

    convenience init(_ file: SourceFile) {
        self.init(.file(file), size: file.size)
    }

    convenience init(_ block: StreamBlock) {
        self.init(.block(block, position: 0), size: UInt64(block.count))
    }

    convenience init(_ reader: SealedReader, size: UInt64) {
        self.init(.sealed(reader), size: size)
    }

    /// Reads no content at all.
    ///
    /// - Parameter size: the size to declare in spite of that.
    convenience init(size: UInt64?) {
        self.init(.nothing, size: size)
    }

    private convenience init(copying other: ContentReader) {
        self.init(other.origin, size: other.size)
    }

    private init(_ origin: Origin, size: UInt64?) {
        self.origin = origin
        self.size = size
    }

    /// Modification time and permissions; nil if the content is not a file.
    var attributes: (modified: Timestamp?, permissions: UInt16?) {
        guard case .file(let file) = origin else { return (nil, nil) }
        return (file.modified, file.permissions)
    }

    /// The file's other attributes; nil if the content is not a file.
    func extraAttributes(wantsOwner: Bool) throws(Failure) -> ExtraAttributes? {
        guard case .file(let file) = origin else { return nil }
        return try file.extraAttributes(wantsOwner: wantsOwner)
    }

    /// Identity of the file; nil if the content is not a file.
    var file: SourceFile.Identity? {
        guard case .file(let file) = origin else { return nil }
        return file.identity
    }

    /// Bytes of the whole file that are not in holes, as far as known; nil if it has no holes.
    var filled: UInt64? {
        guard case .file(let file) = origin else { return nil }
        return file.filled
    }

    /// The next bytes: data, or a hole.
    var run: FileHoles.Run {
        guard case .file(let file) = origin else { return .data }
        return file.run
    }

    /// Skips bytes of a hole.
    func skip(_ count: Int) {
        if case .file(let file) = origin { file.skip(count) }
    }

    /// - Returns: number of bytes; fewer than requested only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        switch origin {
        case .file(let file): return try file.read(into: buffer)
        case .bytes(let bytes, let position):
            let count = min(buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            origin = .bytes(bytes, position: position + count)
            return count
        case .block(let block, let position):
            let count = min(buffer.count, block.count - position)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[position..<position + count]))
            origin = .block(block, position: position + count)
            return count
        case .sealed(let reader): return try reader.read(into: buffer)
        case .nothing: return 0
        }
    }

    /// Reads the first bytes without moving; valid only before the first `read`.
    func peek(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch origin {
        case .file(let file): return file.peek(into: buffer)
        case .bytes(let bytes, _):
            let count = min(buffer.count, bytes.count)
            buffer.copyBytes(from: bytes[..<count])
            return count
        case .block(let block, _):
            let count = min(buffer.count, block.count)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[..<count]))
            return count
        // No caller asks for the kind of ciphertext.
        case .sealed, .nothing: return 0
        }
    }

    /// The first bytes, `count` at most; valid only before the first `read`.
    func front(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            filled = peek(into: UnsafeMutableRawBufferPointer(space))
        }
    }

    /// - Throws: `sourceChanged` if the file has changed.
    func checkUnchanged() throws(Failure) {
        switch origin {
        case .file(let file): try file.checkUnchanged()
        case .sealed(let reader): try reader.checkUnchanged()
        case .bytes, .block, .nothing: break
        }
    }
}
