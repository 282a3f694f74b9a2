import Testing
import TransferSystem
import TransferTestSupport

@Suite(.timeLimit(.minutes(10))) struct MonitorTests {
    @Test(arguments: [-1, 0, 1]) func doesNotWaitForATimeThatHasPassed(deadline: Int64) {
        let monitor = Monitor(())
        monitor.withLock { #expect(!monitor.wait(until: deadline)) }
    }

    @Test func waitsUntilATime() {
        let monitor = Monitor(())
        let deadline = monotonicDeadline(after: 2_000_000)
        monitor.withLock { while monitor.wait(until: deadline) {} }
        #expect(monotonicNanoseconds() >= deadline)
    }

    @Test(arguments: [Int64.max, Int64.max - 1]) func isWokenBeforeTheTime(deadline: Int64) async throws {
        let monitor = Monitor(false)
        let thread = TestThread {
            monitor.withLock {
                monitor.state = true
                monitor.wakeOne()
            }
        }
        try await TestThread.run {
            monitor.withLock {
                while !monitor.state, monitor.wait(until: deadline) {}
                #expect(monitor.state)
            }
            thread.join()
        }
    }
}
