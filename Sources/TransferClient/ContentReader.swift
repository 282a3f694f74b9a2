import TransferProtocol

/// Reads the content of one upload from wherever it is.
final class ContentReader {
    private enum Origin {
        case file(SourceFile)
        case bytes([UInt8], position: Int)
        case stream(ReplayableStream)
    }

    private var origin: Origin

    /// Bytes in all, or nothing when only the end will tell.
    let size: UInt64?

    /// - Throws: `sourceUnreadable`, `sourceSkipped`, or `connectionLost` for a stream that cannot be read again.
    init(_ content: PendingUpload.Content) throws(LocalFailure) {
        switch content {
        case .file(let path, let followsLinks):
            let file = try SourceFile(path: path, followsLinks: followsLinks)
            origin = .file(file)
            size = file.size
        case .part(let split, let range):
            origin = .file(try split.open(range))
            size = UInt64(range.count)
        case .assembly(let split):
            // Nothing is read of it any more, but it must still be the same.
            origin = .file(try split.open(0..<split.size))
            size = split.size
        case .bytes(let bytes):
            origin = .bytes(bytes, position: 0)
            size = UInt64(bytes.count)
        case .stream(let stream):
            guard stream.rewind() else {
                throw LocalFailure(
                    code: .connectionLost,
                    message: "The connection was lost, and a stream cannot be read again: save it to a file to push it."
                )
            }
            origin = .stream(stream)
            size = nil
        }
    }

    /// Modification time and permissions, where there are any.
    var attributes: (modified: Begin.Timestamp?, permissions: UInt16?) {
        guard case .file(let file) = origin else { return (nil, nil) }
        return (file.modified, file.permissions)
    }

    /// Which file it is, where it is one.
    var file: SourceFile.Identity? {
        guard case .file(let file) = origin else { return nil }
        return file.identity
    }

    /// Whether the next read may have to wait for somebody else.
    var mayBlock: Bool {
        guard case .stream(let stream) = origin else { return false }
        return stream.mayBlock
    }

    /// - Returns: 0 at the end; short reads happen on streams only, and at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(LocalFailure) -> Int {
        switch origin {
        case .file(let file): return try file.read(into: buffer)
        case .bytes(let bytes, let position):
            let count = min(buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            origin = .bytes(bytes, position: position + count)
            return count
        case .stream(let stream):
            do {
                return try stream.read(into: buffer)
            } catch {
                throw LocalFailure(code: .sourceUnreadable, message: "The stream could not be read: \(error).")
            }
        }
    }

    /// The first bytes, without moving; to be asked before anything is read. Waits for a stream's.
    func peek(into buffer: UnsafeMutableRawBufferPointer) throws(LocalFailure) -> Int {
        switch origin {
        case .file(let file): return file.peek(into: buffer)
        case .bytes(let bytes, _):
            let count = min(buffer.count, bytes.count)
            buffer.copyBytes(from: bytes[..<count])
            return count
        case .stream(let stream):
            let count = try read(into: buffer)
            // The first bytes are always kept.
            _ = stream.rewind()
            return count
        }
    }

    /// - Throws: `sourceChanged`.
    func checkUnchanged() throws(LocalFailure) {
        guard case .file(let file) = origin else { return }
        try file.checkUnchanged()
    }
}
