internal import CLinux
package import TransferModel
package import TransferPorts
import TransferSystem

/// Digests the blocks that are there of an unfinished upload, in order and some at a time, so that others have their turn
/// between. Holes are left out, and what an earlier attempt has left behind the end is nobody's. A block that cannot
/// be read is not there.
package struct BlockSurvey: ContentSurvey {
    private let staged: StagedFile
    private let function: DigestFunction
    /// Bytes of the file.
    private let size: UInt64
    private let total: UInt64?
    /// The block that is looked at next begins here.
    private var position: UInt64 = 0
    /// Where the data ends that is there at `position`; a block is looked at once, however many holes are in it.
    private var hole: UInt64 = 0

    /// Blocks that one thread digests in a step: with 16 MiB a step takes some milliseconds.
    private static let blocksPerThread = 4

    init(_ staged: StagedFile, size: UInt64, total: UInt64?, _ function: DigestFunction) {
        (self.staged, self.size, self.total, self.function) = (staged, size, total, function)
    }

    /// - Parameter threads: how many to use.
    /// - Returns: what was found; nothing when all of the file was looked at.
    package mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]? {
        let ranges = try attempt("read what has arrived before") { () throws(SystemError) in
            try next(max(1, threads) * Self.blocksPerThread)
        }
        guard !ranges.isEmpty else { return nil }
        let digests = Locked([[UInt8]?](repeating: nil, count: ranges.count))
        inParallel(on: threads, ranges.count) { [staged, function] number in
            let digest = staged.digest(of: ranges[number], function)
            digests.withLock { $0[number] = digest }
        }
        return zip(ranges, digests.withLock { $0 }).compactMap { range, digest in
            digest.map { SurveyedBlock(range, $0) }
        }
    }

    /// Where the next whole blocks are that have any bytes on disk.
    private mutating func next(_ count: Int) throws(SystemError) -> [Range<UInt64>] {
        let block = UInt64(Limits.blockSize)
        let end = min(size, total ?? size)
        var blocks: [Range<UInt64>] = []
        while blocks.count < count, position < end {
            if position >= hole {
                guard let data = try staged.seek(position, clinux_seek_data), data < end else {
                    position = end
                    break
                }
                hole = try staged.seek(data, clinux_seek_hole) ?? end
                // A file system that tells of data before the place from which it was asked must not be asked for ever.
                position = max(position, data / block * block)
            }
            let blockEnd = min(position + block, total ?? .max)
            if blockEnd <= size { blocks.append(position..<blockEnd) }
            position += block
        }
        return blocks
    }
}
