internal import CLinux
import Glibc
import TransferCodec
package import TransferProtocol
import TransferSystem

/// What a part has of its upload already. Nothing is known of it but its bytes, and these only as they are read now.
extension StagedFile {
    /// A block that is there, whole.
    package struct Block: Equatable, Sendable {
        package let index: UInt64
        package let digest: [UInt8]
    }

    /// Blocks digested at once; what is found is told after each such group.
    private static let groupSize = 16

    /// Bytes read at once.
    private static let readSize = 256 << 10

    /// Digests the blocks that are there, in order, several at a time. Holes are left out. A block that cannot be read is
    /// not there.
    ///
    /// - Parameters:
    ///   - total: bytes of the upload, where they are known: the last block may be short.
    ///   - threads: how many to use.
    ///   - found: is told group by group.
    /// - Throws: when nothing can be said of the file at all.
    package func digestBlocks(
        of total: UInt64?, _ function: DigestFunction, threads: Int, found: ([Block]) -> Void
    ) throws(StoreError) {
        let blocks = try attempt("read what has arrived before") { () throws(SystemError) in
            try candidates(total)
        }
        var rest = blocks[...]
        while !rest.isEmpty {
            let group = Array(rest.prefix(Self.groupSize))
            rest = rest.dropFirst(group.count)
            let digests = Locked([[UInt8]?](repeating: nil, count: group.count))
            inCrowd(of: threads, group.count) { number in
                let digest = self.digest(of: group[number], function)
                digests.withLock { $0[number] = digest }
            }
            let here = zip(group, digests.withLock { $0 }).compactMap { range, digest in
                digest.map { Block(index: range.lowerBound / UInt64(Limits.blockSize), digest: $0) }
            }
            if !here.isEmpty { found(here) }
        }
    }

    /// Where whole blocks are that have any bytes on disk. What an earlier attempt has left behind the end is nobody's. A
    /// block is looked at once, however many holes are in it.
    private func candidates(_ total: UInt64?) throws(SystemError) -> [Range<UInt64>] {
        let size = try self.size()
        let end = min(size, total ?? size)
        let block = UInt64(Limits.blockSize)
        var blocks: [Range<UInt64>] = []
        var position: UInt64 = 0
        while position < end, let data = try seek(position, clinux_seek_data), data < end {
            let hole = min(try seek(data, clinux_seek_hole) ?? end, end)
            var start = data / block * block
            repeat {
                let blockEnd = min(start + block, total ?? .max)
                if blockEnd <= size { blocks.append(start..<blockEnd) }
                start += block
            } while start < hole
            position = start
        }
        return blocks
    }

    private func size() throws(SystemError) -> UInt64 {
        UInt64(max(0, try disk.status(number).st_size))
    }

    /// - Returns: nothing when there is no more data.
    private func seek(_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64? {
        do throws(SystemError) {
            return try disk.seek(number, from: position, whence)
        } catch {
            guard error.errno == ENXIO else { throw error }
            return nil
        }
    }

    private func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let hasher = BlockHasher(function)
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(range.upperBound - position)))
            guard let count = try? disk.read(number, into: wanted, at: position), count > 0 else { return nil }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            position += UInt64(count)
        }
        return hasher.finish()
    }

    /// Cuts off what an earlier attempt has left behind the end.
    package func trim(to size: UInt64) throws(StoreError) {
        try attempt("set the size of the file") { () throws(SystemError) in
            guard try self.size() > size else { return }
            try disk.truncate(number, to: size)
        }
    }
}
