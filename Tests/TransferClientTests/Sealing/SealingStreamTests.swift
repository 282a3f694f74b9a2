import Testing
import TransferModel
import TransferSealing
import TransferTestSupport

@testable import TransferClient

@Suite struct SealingStreamTests {
    private let sample: SealingSample

    init() throws {
        sample = try SealingSample()
    }

    private func sealed(_ stream: SealingStream, _ piece: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: piece)
        while case let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }

    @Test(arguments: [[], [0], [1], [65_536], [65_536, 1], [10, 70_000, 300_000, 3]])
    func opensAgain(_ sizes: [Int]) throws {
        let pieces = sizes.enumerated().map { randomBytes($1, seed: UInt64($0)) }.filter { !$0.isEmpty }
        let stream = try SealingStream(PieceSource(pieces), for: [sample.bob.recipient])
        #expect(stream.content == nil)
        let sealed = try sealed(stream, 1000)
        #expect(try SealingSample.opened(sealed, sample.bob) == Array(pieces.joined()))
        let all = Array(pieces.joined())
        let digest = FakeMailbox.digest(all, SealedNote.digestFunction)
        #expect(stream.content == SealedNote.Content(size: UInt64(all.count), digest: digest))
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(try buffer.withUnsafeMutableBytes { try stream.read(into: $0) } == 0)
    }

    @Test func knowsWhatItIs() throws {
        let stream = try SealingStream(PieceSource([Array("a text\n".utf8)]), for: [sample.bob.recipient])
        _ = try sealed(stream, 1000)
        #expect(stream.kind == .text)
        let other = try SealingStream(PieceSource([[0, 1], [2, 3]]), for: [sample.bob.recipient])
        _ = try sealed(other, 1000)
        #expect(other.kind == .file)
    }

    @Test func noTwoHaveTheSameSecrets() throws {
        let streams = try (0..<2).map { _ in try SealingStream(PieceSource([[1]]), for: [sample.bob.recipient]) }
        #expect(streams[0].tag != streams[1].tag)
        #expect(try sealed(streams[0], 10) != sealed(streams[1], 10))
    }

    @Test func whatCannotBeReadIsSaid() throws {
        let stream = try SealingStream(PieceSource([[1]], breaks: true), for: [sample.bob.recipient])
        #expect(throws: PieceSource.Broken.self) { try sealed(stream, 10) }
    }
}
