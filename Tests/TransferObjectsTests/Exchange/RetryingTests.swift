import Testing
import TransferModel
import TransferSystem

@testable import TransferObjects

@Suite struct RetryingTests {
    @Test(arguments: [(0, 0.1), (1, 0.2), (2, 0.4), (5, 3.2), (6, 5), (50, 5), (Int.max, 5)] as [(Int, Double)])
    func doublesTheWait(number: Int, seconds: Double) {
        let policy = RetryPolicy()
        #expect(policy.wait(before: number, random: 0, asked: nil) == .seconds(0))
        #expect(policy.wait(before: number, random: 0.5, asked: nil) == .seconds(seconds / 2))
        #expect(policy.wait(before: number, random: 0, asked: .seconds(9)) == .seconds(9))
        #expect(policy.wait(before: number, random: 0.9, asked: .seconds(0)) == .seconds(seconds * 0.9))
    }

    @Test func limitsRepetitionsByTokens() {
        let tokens = RetryTokens(17)
        #expect(tokens.pay(forSilence: true) == 10)
        #expect(tokens.pay(forSilence: true) == nil)
        #expect(tokens.pay(forSilence: false) == 5)
        #expect(tokens.pay(forSilence: false) == nil)
        // A call that succeeds after a repetition brings back what it has cost, any other one a token.
        tokens.succeed(paid: 5)
        #expect(tokens.pay(forSilence: false) == 5)
        tokens.succeed(paid: nil)
        tokens.succeed(paid: nil)
        tokens.succeed(paid: nil)
        #expect(tokens.pay(forSilence: false) == 5)
        #expect(tokens.pay(forSilence: false) == nil)
    }

    @Test func keepsNoMoreTokensThanAtTheStart() {
        let tokens = RetryTokens()
        for _ in 0..<100 { tokens.succeed(paid: nil) }
        for _ in 0..<100 { #expect(tokens.pay(forSilence: false) == 5) }
        #expect(tokens.pay(forSilence: false) == nil)
    }

    /// The wait itself is tested, so there is no event to wait for instead.
    @Test func waitsOnTheSystemsClock() {
        let begin = monotonicNanoseconds()
        StoreClock.system.sleep(.milliseconds(2))
        #expect(monotonicNanoseconds() - begin >= 2_000_000)
        StoreClock.system.sleep(.seconds(-1))
        #expect((0..<1).contains(StoreClock.system.random()))
    }
}
