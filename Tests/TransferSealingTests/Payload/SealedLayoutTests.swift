import Testing
import TransferModel

@testable import TransferSealing

@Suite struct SealedLayoutTests {
    private static let chunk = UInt64(SealedLayout.chunkSize)

    /// Size of the content, number of chunks, and size of the sealed file with a header of 200 bytes.
    @Test(
        arguments: [
            (0, 1, 216 + 16), (1, 1, 216 + 17), (65_535, 1, 216 + 65_551), (65_536, 1, 216 + 65_552),
            (65_537, 2, 216 + 65_552 + 17), (131_072, 2, 216 + 2 * 65_552), (196_608, 3, 216 + 3 * 65_552),
            (196_609, 4, 216 + 3 * 65_552 + 17),
        ] as [(UInt64, UInt64, UInt64)]) func sizes(_ content: UInt64, _ chunks: UInt64, _ sealed: UInt64) throws
    {
        let layout = try SealedLayout(contentSize: content, headerSize: 200)
        #expect(layout.chunks == chunks && layout.sealedSize == sealed && layout.leadSize == 216)
        #expect(try SealedLayout(sealedSize: sealed, headerSize: 200) == layout)
    }

    /// Every size of a sealed file belongs to exactly one content size, or to none.
    @Test func sizesThatNothingHas() throws {
        for size in UInt64(0)..<232 {
            #expect(throws: SealingError.truncated) { try SealedLayout(sealedSize: size, headerSize: 200) }
        }
        for over in UInt64(1)...16 {
            #expect(throws: SealingError.truncated) {
                try SealedLayout(sealedSize: 216 + 65_552 + over, headerSize: 200)
            }
        }
        for size in UInt64(232)..<1000 {
            #expect(try SealedLayout(sealedSize: size, headerSize: 200).contentSize == size - 232)
        }
    }

    /// The longest upload, and sizes beyond it up to the largest number.
    @Test func largestSizes() throws {
        let largest = try SealedLayout(sealedSize: Limits.uploadSize, headerSize: 200)
        #expect(try SealedLayout(contentSize: largest.contentSize, headerSize: 200) == largest)
        #expect(throws: SealingError.self) { try SealedLayout(contentSize: largest.contentSize + 1, headerSize: 200) }
        for size in [Limits.uploadSize, Limits.uploadSize + 1, .max - 1, .max] {
            #expect(throws: SealingError.self) { try SealedLayout(contentSize: size, headerSize: 200) }
        }
        #expect(throws: SealingError.self) { try SealedLayout(sealedSize: Limits.uploadSize + 1, headerSize: 200) }
        #expect(throws: SealingError.self) { try SealedLayout(sealedSize: .max, headerSize: 200) }
        let end = try largest.position(ofSealed: largest.sealedSize)
        #expect(end.chunk == largest.chunks - 1 && end.contentOffset == end.chunk * Self.chunk)
        let most = try SealedLayout(contentSize: SealedLayout.mostContent, headerSize: SealedHeader.longest)
        #expect(most.sealedSize <= Limits.uploadSize)
    }

    @Test func positions() throws {
        let layout = try SealedLayout(contentSize: 2 * Self.chunk + 5, headerSize: 200)
        func position(_ offset: UInt64) throws -> [UInt64] {
            let position = try layout.position(ofSealed: offset)
            return [position.hasLead ? 1 : 0, position.chunk, position.contentOffset, UInt64(position.skipped)]
        }
        #expect(try position(0) == [1, 0, 0, 0])
        #expect(try position(215) == [1, 0, 0, 215])
        #expect(try position(216) == [0, 0, 0, 0])
        #expect(try position(217) == [0, 0, 0, 1])
        #expect(try position(216 + 65_551) == [0, 0, 0, 65_551])
        #expect(try position(216 + 65_552) == [0, 1, Self.chunk, 0])
        #expect(try position(216 + 2 * 65_552 + 20) == [0, 2, 2 * Self.chunk, 20])
        #expect(try position(layout.sealedSize) == [0, 2, 2 * Self.chunk, 21])
        #expect(throws: SealingError.self) { try layout.position(ofSealed: layout.sealedSize + 1) }
        #expect(throws: SealingError.self) { try layout.position(ofSealed: .max) }
        // No chunk begins after the last whole one.
        let whole = try SealedLayout(contentSize: Self.chunk, headerSize: 200)
        #expect(try whole.position(ofSealed: whole.sealedSize).skipped == 65_552)
    }
}
