import Testing
import TransferModel

@testable import TransferClient

@Suite struct PullSplitTests {
    private static let block = UInt64(Limits.blockSize)

    /// The server reports the size of a file, and the list of all parts is in memory before the first byte arrives.
    @Test(
        arguments: [
            0, 1, block, 2 * block, 2 * block + 1, 8 * block, 1 << 39, (1 << 39) + 1, 1 << 50, Limits.uploadSize, .max,
        ] as [UInt64]) func partsCoverAFileOfAnySize(_ size: UInt64)
    {
        let parts = PullSplit.parts(of: size)
        #expect(parts.count <= 65_536)
        #expect(parts.isEmpty == (size == 0))
        #expect(parts.first?.lowerBound ?? 0 == 0 && parts.last?.upperBound ?? 0 == size)
        for (part, next) in zip(parts, parts.dropFirst()) {
            #expect(part.upperBound == next.lowerBound)
            #expect(part.lowerBound.isMultiple(of: Self.block) && part.upperBound.isMultiple(of: Self.block))
        }
    }

    /// Parts are long enough for cheap requests, and short enough that all connections finish together.
    @Test func partsOfUsualFilesAreEightMebibytes() {
        #expect(PullSplit.parts(of: 5 * Self.block).map(\.lowerBound) == [0, 2 * Self.block, 4 * Self.block])
    }
}
