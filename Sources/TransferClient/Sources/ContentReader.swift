import TransferModel
import TransferSystem

/// Reads the content of one upload from wherever it is.
final class ContentReader {
    private enum Origin {
        case file(SourceFile)
        case bytes([UInt8], position: Int)
        case block(StreamBlock, position: Int)
        case sealed(SealedReader)
        case nothing
    }

    private var origin: Origin

    /// Bytes in all, or nothing when only the end will tell.
    let size: UInt64?

    /// - Throws: `sourceUnreadable` or `sourceSkipped`; of what is in parts, why it can't be read.
    convenience init(_ content: PendingUpload.Content) throws(Failure) {
        switch content {
        case .file(let place): self.init(try SourceFile(place))
        case .sealed(let file): self.init(copying: try file.open(0..<file.size))
        case .part(let split, let range): self.init(copying: try split.reader(of: range))
        case .multipart(let split): self.init(copying: try split.readerOfEnd())
        case .drop(let split): self.init(size: split.knownSize ?? 0)
        case .bytes(let bytes): self.init(.bytes(bytes, position: 0), size: UInt64(bytes.count))
        // Read a block at a time, and each block has a reader of its own.
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

    /// Of nothing.
    ///
    /// - Parameter size: to be declared.
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

    /// Modification time and permissions, where there are any.
    var attributes: (modified: Timestamp?, permissions: UInt16?) {
        guard case .file(let file) = origin else { return (nil, nil) }
        return (file.modified, file.permissions)
    }

    /// What a file has beside these; nothing of what is none.
    func extraAttributes(wantsOwner: Bool) throws(Failure) -> ExtraAttributes? {
        guard case .file(let file) = origin else { return nil }
        return try file.extraAttributes(wantsOwner: wantsOwner)
    }

    /// Which file it is, where it is one.
    var file: SourceFile.Identity? {
        guard case .file(let file) = origin else { return nil }
        return file.identity
    }

    /// Bytes of the whole file that are not in holes, as far as that can be told; nothing where there are none.
    var filled: UInt64? {
        guard case .file(let file) = origin else { return nil }
        return file.filled
    }

    /// What comes next.
    var run: FileHoles.Run {
        guard case .file(let file) = origin else { return .data }
        return file.run
    }

    /// Goes past some of a hole.
    func skip(_ count: Int) {
        if case .file(let file) = origin { file.skip(count) }
    }

    /// - Returns: fewer bytes than asked for only at the end.
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

    /// The first bytes, without moving; to be asked before anything is read.
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
        // Nobody asks what ciphertext is.
        case .sealed, .nothing: return 0
        }
    }

    /// The first bytes, as many as there are up to a number; to be asked before anything is read.
    func front(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            filled = peek(into: UnsafeMutableRawBufferPointer(space))
        }
    }

    /// - Throws: `sourceChanged`.
    func checkUnchanged() throws(Failure) {
        switch origin {
        case .file(let file): try file.checkUnchanged()
        case .sealed(let reader): try reader.checkUnchanged()
        case .bytes, .block, .nothing: break
        }
    }
}
