import Testing

@testable import TransferServer

/// The first bytes of a conversation choose the front end.
@Suite struct FrontEndChoiceTests {
    /// Makes front ends that differ by the beginning of their conversations, in the order of precedence.
    private static func frontEnds(_ beginnings: [[UInt8]]) -> FrontEnds {
        let all = beginnings.enumerated().map { number, beginning in
            LineFrontEnd(name: "\(number)", protocols: ["p\(number)", "q\(number)"], beginning: beginning)
        }
        return FrontEnds(all[0], Array(all.dropFirst()))
    }

    /// No beginning before another, beginnings with a common start, and shorter ones before and after longer ones.
    static let beginnings: [[[UInt8]]] = [
        [[0, 2]],
        [[0, 2], [1, 2]],
        [[0, 2], [0, 3, 1], [1]],
        [[1, 2, 3], [1, 2], [1]],
        [[2], [1], [1, 2]],
        [[3, 3], [1, 2, 3], [1, 2]],
        [[3, 3], [1, 2], [1, 2, 3]],
        [[1, 0, 0, 0], [1, 0, 0, 1], [1, 0]],
    ]

    /// All openings of up to five bytes with four values.
    private static let openings: [[UInt8]] = (1...5).reduce(into: [[[UInt8]]]([[[]]])) { levels, _ in
        levels.append(levels[levels.count - 1].flatMap { opening in (0..<4).map { opening + [UInt8($0)] } })
    }.flatMap(\.self)

    /// The first front end whose beginning matches the opening, or else the first of all.
    private static func expected(_ opening: [UInt8], _ beginnings: [[UInt8]]) -> String {
        "\(beginnings.firstIndex { opening.starts(with: $0) } ?? 0)"
    }

    /// Byte by byte, a front end is chosen as soon as no further byte can change the choice, and not before.
    @Test(arguments: beginnings) func choosesAsSoonAsItCan(_ beginnings: [[UInt8]]) {
        let ends = Self.openings.filter { $0.count == 5 }
        for opening in Self.openings where opening.count < 5 {
            var choice = FrontEndChoice(Self.frontEnds(beginnings))
            for byte in opening { choice.received([byte]) }
            let possible = Set(
                ends.filter { $0.starts(with: opening) }.map { Self.expected($0, beginnings) }
                    + [Self.expected(opening, beginnings)])
            #expect(choice.frontEnd?.name == (possible.count == 1 ? possible.first : nil), "\(opening)")
            #expect(choice.frontEnd != nil || choice.room > 0)
        }
    }

    /// The choice does not depend on where the opening is divided.
    @Test(arguments: beginnings) func choosesTheSameHoweverItIsCut(_ beginnings: [[UInt8]]) {
        for opening in Self.openings.filter({ $0.count == 5 }) {
            for cut in 0...5 {
                var choice = FrontEndChoice(Self.frontEnds(beginnings))
                choice.received(opening[..<cut])
                let early = choice.frontEnd?.name
                choice.received(opening[cut...])
                #expect(choice.frontEnd?.name == Self.expected(opening, beginnings))
                #expect(early == nil || early == choice.frontEnd?.name)
                #expect(choice.opening == opening && choice.room == 0)
            }
        }
    }

    /// A client that sends no more, or whose time is over, gets the first front end unless its bytes have chosen
    /// another one.
    @Test(arguments: beginnings) func whoeverStopsIsTheFirstOnes(_ beginnings: [[UInt8]]) {
        for opening in Self.openings {
            var choice = FrontEndChoice(Self.frontEnds(beginnings))
            choice.received(opening)
            choice.complete()
            #expect(choice.frontEnd?.name == Self.expected(opening, beginnings), "\(opening)")
        }
    }

    @Test func theOnlyOneWaitsForNothing() {
        let choice = FrontEndChoice(FrontEnds(BinaryFrontEnd()))
        #expect(choice.frontEnd?.name == BinaryFrontEnd().name)
    }

    @Test(arguments: beginnings) func whatWasAgreedOnDecides(_ beginnings: [[UInt8]]) {
        let frontEnds = Self.frontEnds(beginnings)
        let choice = FrontEndChoice(frontEnds)
        for number in beginnings.indices {
            #expect(choice.frontEnd(named: "p\(number)")?.name == "\(number)")
            #expect(choice.frontEnd(named: "q\(number)")?.name == "\(number)")
        }
        #expect(choice.frontEnd(named: nil) == nil && choice.frontEnd(named: "p") == nil)
        #expect(frontEnds.protocols == beginnings.indices.flatMap { ["p\($0)", "q\($0)"] })
    }

    @Test func framesBeginWithTheirVersion() {
        let frames = BinaryFrontEnd()
        #expect(frames.recognise([]) == .needsMore && frames.recognise([0]) == .needsMore)
        #expect(frames.recognise([0, 2]) == .yes && frames.recognise(Frames.hello) == .yes)
        #expect(frames.recognise([0, 1]) == .no && frames.recognise(Array("GET".utf8)) == .no)
        #expect(frames.openingSize == 2)
    }
}
