internal import CLinux
package import TransferModel
package import TransferPorts
import TransferSystem

/// Digests the blocks that have arrived of an unfinished upload, in order and some at a time, so that other work can
/// run in between. Holes are left out, and bytes beyond the end that an earlier attempt has left are ignored. A block
/// that cannot be read counts as missing.
package struct BlockSurvey: ContentSurvey {
    private let staged: StagedFile
    private let function: DigestFunction
    /// The size of the file.
    private let size: UInt64
    private let total: UInt64?
    /// The offset of the next block.
    private var position: UInt64 = 0
    /// The end of the data at `position`. A block is read once, regardless of the number of holes in it.
    private var hole: UInt64 = 0

    /// Blocks that one thread digests in a step: 16 MiB take some milliseconds.
    private static let blocksPerThread = 4

    init(_ staged: StagedFile, size: UInt64, total: UInt64?, _ function: DigestFunction) {
        (self.staged, self.size, self.total, self.function) = (staged, size, total, function)
    }

    /// - Parameter threads: the number of threads to use.
    /// - Returns: the blocks that were found; nil at the end of the file.
    package mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]? {
        let ranges = try attempt("read the stored part") { () throws(SystemError) in
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

    /// The next whole blocks that have any bytes on disk.
    private mutating func next(_ count: Int) throws(SystemError) -> [Range<UInt64>] {
        let block = UInt64(Limits.blockSize)
        let end = min(size, total ?? size)
        var blocks: [Range<UInt64>] = []
        while blocks.count < count, position < end {
            if position >= hole {
                guard
                    let data = try staged.disk.seekIfThere(
                        staged.number, from: position, clinux_seek_data), data < end
                else {
                    position = end
                    break
                }
                hole = try staged.disk.seekIfThere(staged.number, from: data, clinux_seek_hole) ?? end
                // A file system that reports data before the requested offset must not cause an endless loop.
                position = max(position, data / block * block)
            }
            let blockEnd = min(position + block, total ?? .max)
            if blockEnd <= size { blocks.append(position..<blockEnd) }
            position += block
        }
        return blocks
    }
}
