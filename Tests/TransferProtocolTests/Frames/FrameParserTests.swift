import Testing
import TransferModel
import TransferTestSupport

@testable import TransferProtocol

@Suite struct FrameParserTests {
    private static let recorded = Conversation.recorded

    @Test func allAtOnce() throws {
        let parsed = try Conversation.parse(Self.recorded.bytes, shownUpTo: [Self.recorded.bytes.count])
        #expect(parsed.frames == Self.recorded.frames)
        #expect(parsed.consumed == Self.recorded.bytes.count)
    }

    @Test func byteByByte() throws {
        let parsed = try Conversation.parse(Self.recorded.bytes, shownUpTo: 1...Self.recorded.bytes.count)
        #expect(parsed.frames == Self.recorded.frames)
    }

    @Test func cutInTwoAnywhere() throws {
        let count = Self.recorded.bytes.count
        for cut in 0...count {
            let frames = try Conversation.parse(Self.recorded.bytes, shownUpTo: [cut, count]).frames
            guard frames == Self.recorded.frames else {
                Issue.record("other frames when cut at \(cut)")
                return
            }
        }
    }

    @Test(arguments: [1, 3, 7, 15, 100, 5_000, 66_000]) func randomCuts(_ longest: Int) throws {
        var generator = SplitMix64(seed: UInt64(longest))
        let count = Self.recorded.bytes.count
        for _ in 0..<20 {
            var ends: [Int] = []
            while (ends.last ?? 0) < count {
                ends.append(min(count, (ends.last ?? 0) + Int.random(in: 0...longest, using: &generator)))
            }
            #expect(try Conversation.parse(Self.recorded.bytes, shownUpTo: ends).frames == Self.recorded.frames)
        }
    }

    @Test func messageIsOnlyTakenWhole() throws {
        let frame = Message.hello(Hello(agent: "transfer/1.0")).frame
        var parser = FrameParser()
        for count in 0..<frame.count { #expect(try parser.next(frame[..<count]) == .needsMore) }
        #expect(try parser.next(frame + [1]) == .message(.hello(Hello(agent: "transfer/1.0")), consumed: frame.count))
    }

    @Test func dataIsGivenAsItComes() throws {
        let frame = FrameHeader.data([1, 2, 3, 4], .zlib)
        var parser = FrameParser()
        #expect(try parser.next(frame[..<6]) == .needsMore)
        #expect(try parser.next(frame[..<7]) == data(7..<7, isFirst: true))
        #expect(!parser.isBetweenFrames)
        #expect(try parser.next(frame[7..<7]) == .needsMore)
        #expect(try parser.next(frame[7..<9]) == data(0..<2))
        #expect(try parser.next(frame[9...] + [0, 2]) == data(0..<2, isLast: true))
        #expect(parser.isBetweenFrames)
    }

    @Test func piecesOfOneFrameCanBeJoined() {
        let first = DataPiece(range: 7..<9, encoding: .stored, isFirst: true, isLast: false)
        let second = DataPiece(range: 9..<12, encoding: .stored, isFirst: false, isLast: true)
        #expect(
            first.joined(with: second) == DataPiece(range: 7..<12, encoding: .stored, isFirst: true, isLast: true))
        #expect(second.joined(with: first) == nil)
        #expect(first.joined(with: first) == nil)
        let other = DataPiece(range: 19..<22, encoding: .stored, isFirst: false, isLast: true)
        #expect(first.joined(with: other) == nil)
        let next = DataPiece(range: 12..<13, encoding: .stored, isFirst: true, isLast: true)
        #expect(second.joined(with: next) == nil)
    }

    @Test func emptyDataIsOnePiece() throws {
        var parser = FrameParser()
        let step = try parser.next(FrameHeader.data([]))
        #expect(step == data(7..<7, .stored, isFirst: true, isLast: true))
        #expect(parser.isBetweenFrames)
    }

    /// A fault in a later frame must not hide the frames before it.
    @Test func faultComesAfterTheFramesBeforeIt() throws {
        let bytes = Message.ping(1).frame + [0, 1, 0, 0]
        var parser = FrameParser()
        #expect(try parser.next(bytes) == .message(.ping(1), consumed: 15))
        let code = faultCode { () throws(ProtocolFault) in _ = try parser.next(bytes[15...]) }
        #expect(code == .unsupportedVersion)
    }

    @Test func tooLargeIsRefusedBeforeTheBodyComes() {
        var parser = FrameParser()
        let header: [UInt8] = [0, 2, 0, 16, 0, 0x40, 1]
        #expect(faultCode { () throws(ProtocolFault) in _ = try parser.next(header) } == .frameTooLarge)
    }

    @Test func randomBytesNeverTrap() {
        var generator = SplitMix64(seed: 9)
        for _ in 0..<20_000 {
            parseToTheEnd(generator.bytes(Int.random(in: 0...80, using: &generator)))
        }
    }

    @Test func randomFramesNeverTrap() {
        var generator = SplitMix64(seed: 10)
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let function = FunctionCode.allCases.randomElement(using: &generator) ?? .data
                let length = Int.random(in: 0...60, using: &generator)
                FrameHeader(function, bodyLength: length).encode(into: &bytes)
                bytes += generator.bytes(length)
            }
            parseToTheEnd(bytes)
        }
    }

    @Test func damagedConversationNeverTraps() {
        var generator = SplitMix64(seed: 11)
        let start = Self.recorded.bytes.prefix(600)
        for _ in 0..<5_000 {
            var bytes = Array(start)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = generator.bytes(1)[0]
            }
            parseToTheEnd(bytes)
        }
    }

    /// Parsing ends with a fault or needs more bytes; it never consumes more bytes than it was given.
    private func parseToTheEnd(_ bytes: [UInt8]) {
        guard let parsed = try? Conversation.parse(bytes, shownUpTo: [bytes.count]) else { return }
        #expect(parsed.consumed <= bytes.count)
    }

    private func data(
        _ range: Range<Int>, _ encoding: BodyEncoding = .zlib, isFirst: Bool = false, isLast: Bool = false
    ) -> FrameParser.Step {
        let piece = DataPiece(range: range, encoding: encoding, isFirst: isFirst, isLast: isLast)
        return .data(piece, consumed: range.upperBound)
    }
}
