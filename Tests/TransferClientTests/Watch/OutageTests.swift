import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct OutageTests {
    private var generator = SplitMix64(seed: 3)

    @Test mutating func isToldOnceAndOnceWhenItIsOver() {
        var outage = Outage(retryFor: nil)
        #expect(!outage.isOn && outage.nextTry == nil && !outage.hasConnected)
        #expect(outage.connected(at: second(0)) == nil)
        #expect(outage.hasConnected)
        #expect(outage.lost(at: second(1)) == true)
        #expect(outage.lost(at: second(2)) == false)
        #expect(outage.failed(at: second(3), using: &generator) == true)
        #expect(outage.lost(at: second(4)) == false)
        #expect(outage.isOn)
        #expect(outage.connected(at: second(9)) == .seconds(8))
        #expect(!outage.isOn && outage.nextTry == nil)
        #expect(outage.lost(at: second(10)) == true)
    }

    @Test mutating func isTriedForEverWithPausesThatGrow() throws {
        var outage = Outage(retryFor: nil)
        var (now, longest) = (second(0), Interval.seconds(0))
        for _ in 0..<200 {
            #expect(outage.failed(at: now, using: &generator) == true)
            let next = try #require(outage.nextTry)
            longest = max(longest, next - now)
            #expect(next > now && next - now <= .seconds(15))
            now = next
        }
        #expect(longest > .seconds(7))
        _ = outage.connected(at: now)
        _ = outage.failed(at: now, using: &generator)
        #expect(try #require(outage.nextTry) - now <= .milliseconds(250))
    }

    @Test mutating func endsWhenItIsNotToBeTriedAnyLonger() throws {
        var outage = Outage(retryFor: 1)
        var now = second(0)
        while outage.failed(at: now, using: &generator) { now = try #require(outage.nextTry) }
        #expect(now < second(1) && now > second(0))
    }

    /// A single attempt may use all the time that is allowed.
    @Test(arguments: [false, true]) mutating func countsFromTheQuestionThatWasNotAnswered(_ isAnswered: Bool) {
        var outage = Outage(retryFor: 5)
        outage.asks(at: second(0))
        if isAnswered { _ = outage.connected(at: second(1)) }
        #expect(outage.lost(at: second(5)) == true)
        #expect(outage.failed(at: second(5), using: &generator) == isAnswered)
    }

    /// The time counts from the first lost connection, not from the failure of the push.
    @Test mutating func countsFromTheFirstLoss() {
        var outage = Outage(retryFor: 1)
        _ = outage.lost(at: second(0))
        #expect(outage.failed(at: second(1), using: &generator) == false)
    }
}
