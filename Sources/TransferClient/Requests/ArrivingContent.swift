import TransferCodec
import TransferModel
import TransferProtocol

/// Content that comes in answer to a `fetch`, compared with what the server says of it. Belongs to one task at a time.
final class ArrivingContent {
    let file: FetchedFile
    private let digester: ContentDigester
    private let function: DigestFunction
    private var finished: (index: UInt64, digest: [UInt8])?

    /// The digests of a part's blocks, one after the other.
    private(set) var blocks: [UInt8] = []

    /// Where the content begins and ends that comes, when it is not all of the file's.
    private let part: Range<UInt64>?

    /// Bytes up to where the content is there.
    private(set) var size: UInt64

    /// - Parameters:
    ///   - digester: has seen what was there before, as far as the server goes on with that.
    ///   - part: what comes, when that is all that was asked for.
    init(
        _ file: FetchedFile, _ function: DigestFunction, digester: ContentDigester, part: Range<UInt64>? = nil
    ) {
        (self.file, self.function, self.digester, self.part) = (file, function, digester, part)
        size = part?.lowerBound ?? digester.size
    }

    private var end: UInt64 { part?.upperBound ?? file.size }

    /// Takes what comes next.
    ///
    /// - Returns: false when that is more than the server has announced.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard UInt64(bytes.count) <= end - size else { return false }
        size += UInt64(bytes.count)
        digester.update(bytes) { index, digest in
            finished = (index + (part?.lowerBound ?? 0) / UInt64(Limits.blockSize), digest)
            if part != nil { blocks += digest }
        }
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
    func end(_ end: End) throws(Failure) -> Digest {
        guard size == self.end, end.size == size - (part?.lowerBound ?? 0) else {
            throw Failure(.sizeMismatch, "\(size) bytes of \(file.size) arrived.")
        }
        let (digest, last) = digester.finish()
        if part != nil { blocks += last?.digest ?? (blocks.isEmpty ? digest.bytes : []) }
        guard digest == end.digest else {
            throw Failure(
                .digestMismatch, "The content arrived as \(digest), and was sent as \(end.digest).")
        }
        return digest
    }
}
