import Testing
import TransferSystem

@Suite struct MonotonicClockTests {
    @Test func neverGoesBack() {
        var last = monotonicNanoseconds()
        for _ in 0..<1000 {
            let now = monotonicNanoseconds()
            #expect(now >= last)
            last = now
        }
    }

    @Test func aDeadlineThatIsTooFarAwayIsTheLastOneThereIs() {
        #expect(monotonicDeadline(after: .max) == .max)
        #expect(monotonicDeadline(after: .max - 1) == .max)
        let now = monotonicNanoseconds()
        #expect(monotonicDeadline(after: 5) >= now + 5)
        #expect(monotonicDeadline(after: .min) < 0)
    }
}
