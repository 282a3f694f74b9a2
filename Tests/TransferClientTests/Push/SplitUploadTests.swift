import CLinux
import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct SplitUploadTests {
    private static func split(size: UInt64) -> SplitUpload {
        var status = stat()
        status.st_size = off_t(clamping: size)
        return SplitUpload(
            PendingUpload(.bytes([]), label: "big", destination: "big", kind: .file),
            .file(SourceFile.Identity(status), path: "big", followsLinks: true), function: .xxh128)
    }

    private static func ranges(of split: SplitUpload, among lanes: Int = 1) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        while case .part(_, let range)? = split.nextPart(among: lanes)?.content { ranges.append(range) }
        return ranges
    }

    /// Every byte once, in parts of whole blocks that grow no longer, and the last ones are short.
    @Test(arguments: [-1, 0, 1, 2, 3, 4, 8, 31, 32, .max])
    func partsForAnyNumberOfLanes(_ lanes: Int) {
        let block = UInt64(Limits.blockSize)
        for blocks in 2...70 as ClosedRange<UInt64> {
            for size in [blocks * block - 1, blocks * block, blocks * block + 1] {
                let ranges = Self.ranges(of: Self.split(size: size), among: lanes)
                #expect(ranges.first?.lowerBound == 0 && ranges.last?.upperBound == size)
                for (range, next) in zip(ranges, ranges.dropFirst()) {
                    #expect(range.upperBound == next.lowerBound && next.lowerBound % block == 0)
                    #expect(range.count >= next.count && range.count <= 4 * Limits.blockSize)
                    let isShort = range.count == Limits.blockSize
                    let left = size - range.lowerBound
                    #expect(lanes < 2 || isShort || UInt64(2 * range.count) <= left / UInt64(lanes))
                }
            }
        }
    }

    /// Lanes that come in the middle get short parts of what is left.
    @Test func partsFollowTheLanes() {
        let split = Self.split(size: 60_000_000)
        guard case .part(_, let first)? = split.nextPart(among: 1)?.content else { return #expect(Bool(false)) }
        #expect(first == 0..<16 << 20)
        let ranges = Self.ranges(of: split, among: 32)
        #expect(ranges.first?.lowerBound == 16 << 20 && ranges.last?.upperBound == 60_000_000)
        #expect(ranges.count == 11)
    }

    /// A file with holes can say that it is as large as files get. Nothing is made for blocks that nobody has read.
    @Test(arguments: [SplitUpload.smallestSize, 1 << 40, (1 << 50) + 1, Limits.uploadSize] as [UInt64])
    func partsCoverAFileOfAnySize(_ size: UInt64) {
        let ranges = Self.ranges(of: Self.split(size: size))
        #expect(ranges.count <= 65_536)
        #expect(ranges.first?.lowerBound == 0)
        #expect(ranges.last?.upperBound == size)
        for (range, next) in zip(ranges, ranges.dropFirst()) { #expect(range.upperBound == next.lowerBound) }
    }

    /// How far a part has come says the server.
    @Test func progressBeyondAnyNumber() {
        let split = Self.split(size: SplitUpload.smallestSize)
        #expect(split.progressed(.random(), 5) == 5)
        for _ in 0..<3 { #expect(split.progressed(.random(), .max) == .max) }
    }

    /// What the server has as it is here is not sent; what differs, and what is missing, is.
    @Test func onlyWhatDiffersIsSent() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("long")
        let block = Limits.blockSize
        let content = (0..<9 * block + 1000).map { UInt8(truncatingIfNeeded: $0 / 4099) }
        try Files.write(path, content)
        let whole = PendingUpload(.bytes([]), label: "long", destination: "long", kind: .file)
        let file = try SourceFile(path: path, followsLinks: true).identity
        let split = SplitUpload(whole, .file(file, path: path, followsLinks: true), function: .xxh128)
        let digests = stride(from: 0, to: content.count, by: block).map { start in
            Digest(
                .xxh128,
                content[start..<min(content.count, start + block)].withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
        }
        let wrong = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        let id = whole.id
        #expect(try split.compare(Have(id: id, first: 1, digests: [digests[1], wrong])) == UInt64(2 * block))
        #expect(try split.compare(Have(id: id, first: 9, digests: [digests[9], wrong, wrong])) > 0)
        #expect(try split.compare(Have(id: id, first: .max - 1, digests: [wrong])) > 0)
        // Twice is once.
        _ = try split.compare(Have(id: id, first: 1, digests: [digests[1]]))
        let ranges = Self.ranges(of: split)
        #expect(
            ranges == [0..<UInt64(block), UInt64(2 * block)..<UInt64(6 * block), UInt64(6 * block)..<UInt64(9 * block)])
        #expect(split.end == nil)
        for range in ranges {
            let blocks = Int(range.lowerBound) / block..<Int(range.upperBound) / block
            split.keep(blocks.flatMap { digests[$0].bytes }, from: range.lowerBound)
            _ = split.staged(PendingUpload(.part(split, range), of: whole))
        }
        #expect(split.end != nil)
        #expect(split.digest == BlockTree.root(digests.flatMap { $0.bytes }, .xxh128))
        // Asked again, it is known without reading.
        try Files.write(path, [1])
        split.restart()
        _ = try split.compare(Have(id: id, first: 0, digests: digests))
        #expect(split.end != nil)
    }

    /// The lanes are done with their parts in any order, and with some of them twice.
    @Test func digestsCountInTheOrderOfTheFile() {
        let split = Self.split(size: 100 << 20)
        let ranges = Self.ranges(of: split)
        let digests = ranges.indices.map { index in
            [UInt8](repeating: UInt8(index), count: ranges[index].count / Limits.blockSize * DigestFunction.xxh128.size)
        }
        split.keep([UInt8](repeating: 9, count: digests[1].count), from: ranges[1].lowerBound)
        for index in ranges.indices.reversed() { split.keep(digests[index], from: ranges[index].lowerBound) }
        #expect(ranges.count > 2)
        #expect(split.digest == BlockTree.root(digests.flatMap { $0 }, .xxh128))
    }
}
