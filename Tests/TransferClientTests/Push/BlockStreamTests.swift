import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct BlockStreamTests {
    private static let block = Limits.blockSize

    /// All blocks of a stream, with the shorter last one.
    private static func blocks(of stream: BlockStream) throws -> [StreamBlock] {
        var blocks: [StreamBlock] = []
        while true {
            switch try stream.read() {
            case .more, .noRoom: break
            case .block(let block): blocks.append(block)
            case .end(let last): return blocks + (last.map { [$0] } ?? [])
            }
        }
    }

    @Test(arguments: [0, 1, block - 1, block, block + 1, 3 * block, 3 * block + 7], [1 << 16, 1 << 30])
    func blocksAreTheStream(_ size: Int, _ piece: Int) throws {
        var generator = SplitMix64(seed: UInt64(size))
        let content = generator.bytes(size)
        let pieces = stride(from: 0, to: size, by: piece).map { Array(content[$0..<min(size, $0 + piece)]) }
        let blocks = try Self.blocks(of: BlockStream(PieceSource(pieces)))
        #expect(blocks.map(\.index) == (0..<UInt64(blocks.count)).map { $0 })
        #expect(blocks.dropLast().allSatisfy { $0.count == Self.block })
        let isSame = blocks.flatMap { Array($0.bytes) } == content
        #expect(isSame && blocks.count == (size + Self.block - 1) / Self.block)
        #expect(blocks.last.map { $0.range.upperBound == UInt64(size) } ?? (size == 0))
    }

    /// A terminal can be read after its end; the stream must not return more content then.
    @Test func itEndsOnlyOnce() throws {
        let gate = Gate()
        for piece in [[1], [], [2]] as [[UInt8]] { gate.put(piece) }
        let stream = BlockStream(GatedSource(gate))
        #expect(try Self.blocks(of: stream).map { Array($0.bytes) } == [[1]])
        #expect(try Self.blocks(of: stream).isEmpty)
    }

    /// At most a fixed number of blocks is in memory, even if a caller asks for more. Releasing a block makes room.
    @Test func onlyAFewBlocksAreInMemory() throws {
        let stream = BlockStream(PieceSource([[UInt8](repeating: 9, count: 10 * Self.block)]))
        var blocks: [StreamBlock] = []
        while case .block(let block) = try stream.read() { blocks.append(block) }
        #expect(blocks.count == BlockStream.mostBlocks + 1)
        blocks.removeFirst()
        guard case .block(let next) = try stream.read() else {
            Issue.record("no block")
            return
        }
        #expect(next.index == UInt64(BlockStream.mostBlocks + 1))
    }

    /// A source may return any number of bytes.
    @Test(arguments: [-5, Int.min, Limits.blockSize + 1, Int.max])
    func lyingSourcesDoNoHarm(_ claim: Int) throws {
        struct Liar: ByteSource {
            let claim: Int
            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { claim }
        }
        switch try BlockStream(Liar(claim: claim)).read() {
        case .more, .noRoom: Issue.record("neither a block nor the end")
        case .block(let block): #expect(claim > 0 && block.count == Limits.blockSize)
        case .end(let last): #expect(claim < 0 && last == nil)
        }
    }

    @Test func aBrokenOneSaysSo() {
        let stream = BlockStream(PieceSource([[1]], breaks: true))
        #expect { while case .more = try stream.read() {} } throws: { ($0 as? Failure)?.code == .sourceUnreadable }
    }
}
