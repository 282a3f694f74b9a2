import TransferCodec
import TransferModel
import TransferProtocol

/// Content that arrives in answer to a `fetch`, compared with the digests that the server sends. Belongs to one task at
/// a time.
final class ArrivingContent {
    let file: FetchedFile
    private let digester: ContentDigester
    private let function: DigestFunction
    private var finished: (index: UInt64, digest: [UInt8])?

    /// The digests of a part's blocks, one after the other; empty for a whole file.
    private(set) var blocks: [UInt8] = []

    /// The requested range of the file; nil if the rest of the file was requested.
    private let part: Range<UInt64>?

    /// Offset in the file up to which the content has arrived.
    private(set) var size: UInt64

    /// - Parameters:
    ///   - digester: has digested the content before the offset at which the server begins.
    ///   - part: the requested range; nil for the rest of the file.
    init(
        _ file: FetchedFile, _ function: DigestFunction, digester: ContentDigester, part: Range<UInt64>? = nil
    ) {
        (self.file, self.function, self.digester, self.part) = (file, function, digester, part)
        size = part?.lowerBound ?? digester.size
    }

    private var end: UInt64 { part?.upperBound ?? file.size }

    /// Takes the next bytes.
    ///
    /// - Returns: false if they are more than the server announced.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard UInt64(bytes.count) <= end - size else { return false }
        size += UInt64(bytes.count)
        digester.update(bytes) { index, digest in
            finished = (index + (part?.lowerBound ?? 0) / UInt64(Limits.blockSize), digest)
            if part != nil { blocks += digest }
        }
        return true
    }

    /// Whether the block that has just arrived has the digest that the server sent.
    func matches(_ block: BlockDigest) -> Bool {
        guard let finished else { return false }
        return block.index == finished.index && block.digest == Digest(function.plain, finished.digest)
    }

    /// Compares size and digest of all content. May be called once.
    ///
    /// - Returns: the digest of the content.
    /// - Throws: `sizeMismatch`, `digestMismatch`.
    func end(_ end: End) throws(Failure) -> Digest {
        guard size == self.end, end.size == size - (part?.lowerBound ?? 0) else {
            throw Failure(.sizeMismatch, "\(size) bytes of \(file.size) arrived.")
        }
        let (digest, last) = digester.finish()
        if part != nil { blocks += last?.digest ?? (blocks.isEmpty ? digest.bytes : []) }
        guard digest == end.digest else {
            throw Failure(
                .digestMismatch, "The content arrived with the digest \(digest), and was sent with \(end.digest).")
        }
        return digest
    }
}
