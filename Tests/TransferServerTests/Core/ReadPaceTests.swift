import Testing

@testable import TransferServer

/// The speed of reading files that no client waits for.
@Suite struct ReadPaceTests {
    private static let piece = 256 << 10
    private static let pieces = 16

    /// - Returns: nanoseconds of the pause after 4 MiB, each piece of which has taken a millisecond.
    private func pause(isShared: Bool) -> Int64 {
        var pace = ReadPace(now: 0)
        for number in 1..<Self.pieces {
            #expect(pace.pause(after: Self.piece, now: Int64(number) * 1_000_000) { isShared } == 0)
        }
        return pace.pause(after: Self.piece, now: Int64(Self.pieces) * 1_000_000) { isShared }
    }

    @Test func clientsHaveHalfOfTheDisk() {
        #expect(pause(isShared: true) == 16_000_000)
        #expect(pause(isShared: false) == 0)
    }

    /// The pause is bounded also if the disk stalls or the clock goes back.
    @Test func noPauseIsLong() {
        var pace = ReadPace(now: 0)
        #expect(pace.pause(after: 1 << 30, now: 3_600_000_000_000) { true } == 500_000_000)
        #expect(pace.pause(after: 1 << 30, now: 0) { true } == 0)
    }
}
