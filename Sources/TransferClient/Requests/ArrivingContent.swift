import TransferCodec
import TransferProtocol

/// Content that comes in answer to a `fetch`, compared with what the server says of it. Belongs to one task at a time.
final class ArrivingContent {
    let file: FetchedFile
    private let digester: ContentDigester
    private let function: DigestFunction
    private var finished: (index: UInt64, digest: [UInt8])?

    /// Bytes that are there, with those that were there before.
    private(set) var size: UInt64

    /// - Parameter digester: has seen what was there before, as far as the server goes on with that.
    init(_ file: FetchedFile, _ function: DigestFunction, digester: ContentDigester) {
        (self.file, self.function, self.digester) = (file, function, digester)
        size = digester.size
    }

    /// Takes what comes next.
    ///
    /// - Returns: false when that is more than the server has announced.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard UInt64(bytes.count) <= file.size - size else { return false }
        size += UInt64(bytes.count)
        digester.update(bytes) { index, digest in finished = (index, digest) }
        return true
    }

    /// Whether the block that has just come is the one that the server has sent.
    func matches(_ block: BlockDigest) -> Bool {
        guard let finished else { return false }
        return block.index == finished.index && block.digest == Digest(function.plain, finished.digest)
    }

    /// Compares the whole. To be called once.
    ///
    /// - Returns: its digest.
    /// - Throws: `sizeMismatch`, `digestMismatch`.
    func end(_ end: End) throws(LocalFailure) -> Digest {
        guard size == file.size, end.size == size else {
            throw LocalFailure(code: .sizeMismatch, message: "\(size) bytes of \(file.size) arrived.")
        }
        let digest = digester.finish().digest
        guard digest == end.digest else {
            throw LocalFailure(
                code: .digestMismatch, message: "The content arrived as \(digest), and was sent as \(end.digest).")
        }
        return digest
    }
}
