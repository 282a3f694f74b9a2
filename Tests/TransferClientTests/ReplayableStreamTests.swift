import Testing
import TransferProtocol

@testable import TransferClient

@Suite struct ReplayableStreamTests {
    @Test func whatWasReadIsReadAgain() throws {
        let stream = ReplayableStream(PieceSource([[1, 2, 3], [4, 5]]))
        #expect(stream.mayBlock)
        #expect(try Self.read(stream, 2) == [1, 2])
        #expect(stream.rewind())
        #expect(!stream.mayBlock)
        #expect(try Self.read(stream, 10) == [1, 2])
        #expect(stream.mayBlock)
        #expect(try Self.read(stream, 10) == [3])
        #expect(try Self.read(stream, 10) == [4, 5])
        #expect(try Self.read(stream, 10) == [])
    }

    /// A terminal can be read on after its end; then a replay would have other content than before.
    @Test func itEndsOnlyOnce() throws {
        let gate = Gate()
        for piece in [[1], [], [2]] as [[UInt8]] { gate.put(piece) }
        let stream = ReplayableStream(GatedSource(gate))
        #expect(try Self.read(stream, 10) == [1])
        #expect(try Self.read(stream, 10) == [])
        #expect(stream.rewind())
        #expect(try Self.read(stream, 10) == [1])
        #expect(!stream.mayBlock)
        #expect(try Self.read(stream, 10) == [])
    }

    @Test(arguments: [-1, 0, 1])
    func oneBlockIsKept(_ more: Int) throws {
        let size = Limits.blockSize + more
        let stream = ReplayableStream(PieceSource([[UInt8](repeating: 9, count: size)]))
        var count = 0
        while case let read = try Self.read(stream, 100_000).count, read > 0 { count += read }
        #expect(count == size)
        #expect(stream.rewind() == (more <= 0))
    }

    /// A source may claim anything.
    @Test(arguments: [-5, Int.min, 1000, Int.max])
    func lyingSourcesDoNoHarm(_ claim: Int) throws {
        struct Liar: ByteSource {
            let claim: Int
            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { claim }
        }
        let stream = ReplayableStream(Liar(claim: claim))
        #expect(try Self.read(stream, 10).count == (claim < 0 ? 0 : 10))
    }

    private static func read(_ stream: ReplayableStream, _ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try bytes.withUnsafeMutableBytes { try stream.read(into: $0) }
        return Array(bytes[..<read])
    }
}
