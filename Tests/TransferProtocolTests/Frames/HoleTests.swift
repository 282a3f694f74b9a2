import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct HoleTests {
    private static func frame(_ number: UInt32) -> [UInt8] {
        FrameHeader.data((0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }, .hole)
    }

    @Test(arguments: [1, 4096, 65_537, UInt32(Limits.dataBody)]) func itIsTheNumberOfItsBytes(_ number: UInt32) throws {
        var encoded: [UInt8] = []
        Hole(count: Int(number)).encode(into: &encoded)
        #expect(encoded == Self.frame(number))
        let hole = try encoded.suffix(4).withUnsafeBytes { (body) throws(ProtocolFault) in try Hole(body) }
        #expect(hole.count == Int(number))
    }

    @Test func whatIsOutOfRangeIsCut() {
        #expect(Hole(count: 0).count == 1 && Hole(count: .min).count == 1)
        #expect(Hole(count: .max).count == Limits.dataBody)
    }

    @Test(arguments: [0, UInt32(Limits.dataBody) + 1, 1 << 31, .max])
    func anotherNumberIsAFault(_ number: UInt32) {
        var parser = FrameParser()
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try parser.next(Self.frame(number)[...]) } == .malformedFrame)
    }

    /// The parser takes the four bytes of a hole only together, so that no caller has to join them.
    @Test func itIsOnlyTakenWhole() throws {
        let frame = Self.frame(1 << 20)
        var parser = FrameParser()
        for count in 0..<frame.count { #expect(try parser.next(frame[..<count]) == .needsMore) }
        #expect(parser.isBetweenFrames)
        let piece = DataPiece(range: 7..<11, encoding: .hole, isFirst: true, isLast: true)
        #expect(try parser.next(frame + [0]) == .data(piece, consumed: 11))
        #expect(parser.isBetweenFrames)
    }
}
