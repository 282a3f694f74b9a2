import Testing
import TransferLedger
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferMail

/// Waiting mail is not lost, and does not stay for ever, whatever the clocks of machines show.
@Suite(.overEachKindOfMail) struct LedgerClockTests {
    private let fixture: LedgerFixture
    private let month: Int64 = 30 * 86_400 * 1_000_000_000

    init() throws { fixture = try LedgerFixture() }

    /// A machine without a clock that runs while it is off starts in 1970, until it has asked a time server.
    @Test(arguments: [0, 1_800_000_000_000_000_000, .max, .min] as [Int64])
    func nothingExpiresBecauseAClockWasSet(_ time: Int64) throws {
        let ledger = try fixture.open()
        try ledger.queue(LedgerFixture.mail(1, at: 86_400), to: ["bob"])
        #expect(try ledger.expire(after: month, at: time).deliveries == [])
        try ledger.forget(endedBefore: month)
        #expect(try ledger.states(1) == ["bob queued"])
    }

    @Test(.serversClock) func timeGoesWhileAServerHasItOpen() throws {
        let first = try fixture.open()
        try first.queue(LedgerFixture.mail(1), to: ["bob"])
        fixture.clock.withLock { $0 += month / 2 }
        first.close()
        // Another machine, whose clock has started again.
        fixture.clock.withLock { $0 = 5 }
        let second = try fixture.open()
        #expect(try second.expire(after: month, at: 0).deliveries == [])
        fixture.clock.withLock { $0 += month / 2 }
        #expect(try second.expire(after: month, at: 0).deliveries == [])
        fixture.clock.withLock { $0 += 1 }
        #expect(try second.expire(after: month, at: 7).deliveries.map(\.changed) == [7])
        #expect(try second.states(1) == ["bob expired"])
    }

    /// A server that is killed has not recorded the time.
    @Test func timeIsWrittenDownWithEachLook() throws {
        let first = try fixture.open()
        try first.queue(LedgerFixture.mail(1), to: ["bob"])
        fixture.clock.withLock { $0 += month }
        try first.forget(endedBefore: month)
        let second = try fixture.open()
        fixture.clock.withLock { $0 += 1 }
        #expect(try second.expire(after: month, at: 0).deliveries.count == 1)
    }
}
