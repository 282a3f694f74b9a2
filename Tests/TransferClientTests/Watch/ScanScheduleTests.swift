import Testing
import TransferModel

@testable import TransferClient

@Suite struct ScanScheduleTests {
    private var schedule = ScanSchedule()

    @Test mutating func isDueWhenAskedFor() {
        #expect(schedule.next == nil && !schedule.isDue(second(0)))
        schedule.ask(at: second(0))
        #expect(schedule.isDue(second(0)))
        schedule.stop()
        #expect(!schedule.isDue(second(99_999)))
    }

    @Test mutating func everyHourWhereTheKernelTells() {
        schedule.ended(began: second(0), at: second(1), isComplete: true)
        #expect(schedule.next == second(3_601))
    }

    @Test(arguments: [true, false]) mutating func everyHalfMinuteWhereItDoesNot(isBlind: Bool) {
        schedule.isBlind = isBlind
        schedule.ended(began: second(0), at: second(1), isComplete: isBlind)
        #expect(schedule.next == second(31))
    }

    /// Scans take at most a tenth of the time.
    @Test mutating func lessOftenWhereItTakesLong() {
        schedule.isBlind = true
        schedule.ended(began: second(0), at: second(20), isComplete: true)
        #expect(schedule.next == second(220))
    }

    /// If events are lost again and again, scans leave half of the time for sending.
    @Test mutating func asksAreNotAnsweredWithoutPause() {
        schedule.ended(began: second(0), at: second(10), isComplete: true)
        schedule.ask(at: second(11))
        #expect(schedule.next == second(20))
        schedule.ask(at: second(12))
        #expect(schedule.next == second(20) && schedule.isDue(second(20)))
        schedule.ended(began: second(20), at: second(20), isComplete: true)
        schedule.ask(at: second(21))
        #expect(schedule.isDue(second(21)))
    }
}
