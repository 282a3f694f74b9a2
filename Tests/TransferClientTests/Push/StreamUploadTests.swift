import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

private let block = Limits.blockSize

@Suite struct StreamUploadTests {
    /// A stream whose first block was read.
    private struct Fixture {
        let content: [UInt8]
        let upload: StreamUpload
        let whole: PendingUpload

        init(size: Int) throws {
            content = (0..<size / block + 1).flatMap { number in
                [UInt8](repeating: UInt8(number), count: min(block, size - number * block))
            }
            let stream = BlockStream(PieceSource([content]))
            whole = PendingUpload(.stream(stream), label: "s", destination: "s", kind: nil)
            guard case .block(let first) = try stream.read() else { throw RunningServer.NotListening() }
            upload = StreamUpload(whole, first, stream, function: .xxh128)
        }

        func digest(_ index: Int) -> Digest {
            let bytes = content[index * block..<min(content.count, (index + 1) * block)]
            return Digest(.xxh128, bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
        }

        /// Takes all parts that are available and sends them, as a lane would.
        func take() throws -> (parts: [PendingUpload], end: PendingUpload?) {
            var parts: [PendingUpload] = []
            while let next = upload.nextPart(PartSharing()) {
                switch next.content {
                case .part(_, let range):
                    upload.keep(digest(Int(range.lowerBound) / block).bytes, of: range)
                    parts.append(next)
                case .rest: if let end = try upload.readOn().end { return (parts, end) }
                default: Issue.record("neither a part nor the rest")
                }
            }
            return (parts, nil)
        }

        func index(_ part: PendingUpload) -> Int {
            guard case .part(_, let range) = part.content else { return -1 }
            return Int(range.lowerBound) / block
        }

        /// Reconnects to a server that has the blocks `have`.
        func reconnect(_ have: [Int]) throws -> PendingUpload? {
            upload.restart()
            #expect(upload.nextPart(PartSharing()) == nil)
            for index in have {
                _ = try upload.compare(Have(id: whole.id, first: UInt64(index), digests: [digest(index)]))
            }
            return try upload.answered()
        }
    }

    @Test(arguments: [block + 1, 2 * block, 9 * block, 9 * block + 5])
    func aFewBlocksAtATimeUpToTheEnd(_ size: Int) throws {
        let fixture = try Fixture(size: size)
        var (seen, end): ([Int], PendingUpload?) = ([], nil)
        while end == nil {
            let (parts, ended) = try fixture.take()
            #expect(parts.count <= BlockStream.mostBlocks)
            end = ended
            for part in parts {
                #expect(end == nil)
                seen.append(fixture.index(part))
                let isSame =
                    try ContentReader(part.content).size == UInt64(min(block, size - fixture.index(part) * block))
                #expect(isSame)
                end = fixture.upload.staged(part)
            }
            guard !parts.isEmpty || end != nil else { break }
        }
        #expect(end?.id == fixture.whole.id)
        #expect(seen == Array(0..<(size + block - 1) / block))
        #expect(fixture.upload.knownSize == UInt64(size))
        #expect(fixture.upload.digest == ContentDigester.digest(.xxh128, fixture.content))
        #expect(!fixture.upload.hasMoreParts)
    }

    /// Blocks that arrived without an acknowledgement are not sent again.
    @Test func whatTheServerHasIsNotSentAgain() throws {
        let fixture = try Fixture(size: 6 * block + 1)
        let first = try fixture.take().parts
        #expect(first.map(fixture.index) == [0, 1, 2, 3])
        _ = fixture.upload.staged(first[0])
        #expect(try fixture.reconnect([0, 2]) == nil)
        #expect(try fixture.take().parts.map(fixture.index) == [1, 3, 4, 5])
    }

    /// The server no longer has any block, or lacks the block that the client has released.
    @Test(arguments: [[], [1, 2, 3]])
    func whatIsGoneHereAndThereEndsIt(_ have: [Int]) throws {
        let fixture = try Fixture(size: 6 * block)
        let parts = try fixture.take().parts
        _ = fixture.upload.staged(parts[0])
        #expect(throws: Failure.unreadableStream) { _ = try fixture.reconnect(have) }
    }

    @Test func otherBlocksThereAreNotOurs() throws {
        let fixture = try Fixture(size: 3 * block)
        _ = try fixture.take()
        fixture.upload.restart()
        let wrong = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        for first in [0, 2, 500, UInt64.max - 1] {
            _ = try fixture.upload.compare(
                Have(id: fixture.whole.id, first: first, digests: [wrong, wrong, wrong]))
        }
        #expect(try fixture.upload.answered() == nil)
        #expect(try fixture.take().parts.map(fixture.index) == [0, 1, 2])
    }

    /// The end was in transit when the connection was lost.
    @Test func theEndIsSentAgain() throws {
        let fixture = try Fixture(size: 2 * block)
        let (parts, early) = try fixture.take()
        #expect(early == nil)
        #expect(fixture.upload.staged(parts[0]) == nil)
        #expect(fixture.upload.staged(parts[1]) != nil)
        #expect(try fixture.reconnect([0, 1])?.id == fixture.whole.id)
    }

    @Test func nothingMoreIsHandedOutWhenItIsOver() throws {
        let fixture = try Fixture(size: 3 * block)
        let part = try #require(fixture.upload.nextPart(PartSharing()))
        #expect(part.takeReported() === fixture.whole)
        #expect(part.takeReported() == nil)
        #expect(fixture.upload.nextPart(PartSharing()) == nil && !fixture.upload.hasMoreParts)
        #expect(throws: Failure.unreadableStream) { _ = try ContentReader(part.content) }
    }

    /// The server reports the progress of a part, so any number must be handled.
    @Test func progressBeyondAnyNumber() throws {
        let fixture = try Fixture(size: 2 * block)
        for _ in 0..<3 { #expect(fixture.upload.progressed(.random(), .max) == .max) }
    }

    /// One lane reads the stream, and the others may send in the meantime.
    @Test func oneReadsAtATime() throws {
        let fixture = try Fixture(size: 3 * block)
        #expect(fixture.upload.nextPart(PartSharing()).map(fixture.index) == 0)
        guard case .rest? = fixture.upload.nextPart(PartSharing())?.content else {
            Issue.record("nobody reads")
            return
        }
        #expect(fixture.upload.nextPart(PartSharing()) == nil && fixture.upload.hasMoreParts)
        _ = try fixture.upload.readOn()
        #expect(fixture.upload.nextPart(PartSharing()).map(fixture.index) == 1)
    }
}
