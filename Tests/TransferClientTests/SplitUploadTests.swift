import Glibc
import Testing
import TransferCodec
import TransferProtocol

@testable import TransferClient

@Suite struct SplitUploadTests {
    private static func split(size: UInt64) -> SplitUpload {
        var status = stat()
        status.st_size = off_t(clamping: size)
        return SplitUpload(
            PendingUpload(.bytes([]), label: "big", destination: "big", kind: .file), path: "big", followsLinks: true,
            file: SourceFile.Identity(status), function: .xxh128)
    }

    private static func ranges(of split: SplitUpload) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        while case .part(_, let range)? = split.nextPart()?.content { ranges.append(range) }
        return ranges
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
