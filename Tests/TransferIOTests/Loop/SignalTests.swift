import Testing
import TransferIO

@Suite(.timeLimit(.minutes(10))) struct SignalTests {
    @Test func firedBeforeIsRemembered() async throws {
        try await onLoop { _ in
            let signal = Signal()
            signal.fire()
            await signal.wait()
        }
    }

    /// The closure is called for each time that the signal fires, and once for earlier times.
    @Test func callsWhoeverWantsThat() async throws {
        try await onLoop { _ in
            let signal = Signal()
            var calls = 0
            signal.fire()
            signal.call { calls += 1 }
            #expect(calls == 1)
            for _ in 0..<3 { signal.fire() }
            #expect(calls == 4)
            // Without the closure, a task can wait again.
            signal.call(nil)
            signal.fire()
            await signal.wait()
            #expect(calls == 4)
        }
    }

    @Test func waitsUntilFired() async throws {
        try await onLoop { actor in
            let signal = Signal()
            var steps: [String] = []
            let waiting = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                steps.append("waiting")
                await signal.wait()
                steps.append("woken")
            }
            // The loop runs queued jobs in order: the other task waits by the time this one has run.
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            steps.append("firing")
            signal.fire()
            await waiting.value
            #expect(steps == ["waiting", "firing", "woken"])
        }
    }

    @Test func firedSeveralTimesCountsOnce() async throws {
        try await onLoop { actor in
            let signal = Signal()
            for _ in 0..<3 { signal.fire() }
            await signal.wait()
            var isWoken = false
            let waiting = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await signal.wait()
                isWoken = true
            }
            for _ in 0..<3 { await Task.immediate(executorPreference: actor.loop) { _ = actor }.value }
            #expect(!isWoken)
            signal.fire()
            await waiting.value
            #expect(isWoken)
        }
    }

    @Test func firedAgainBeforeTheWaiterRanIsForItsNextWait() async throws {
        try await onLoop { actor in
            let signal = Signal()
            let waiting = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await signal.wait()
                await signal.wait()
            }
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            signal.fire()
            signal.fire()
            await waiting.value
        }
    }

    /// The runtime queues a task that does not prefer the loop again at each step, so the signal can fire between two
    /// steps.
    @Test func aTaskThatDoesNotPreferTheLoopMissesNothing() async throws {
        try await onLoop { actor in
            for _ in 0..<100 {
                let signal = Signal()
                let waiting = Task {
                    _ = actor
                    await signal.wait()
                }
                Task {
                    _ = actor
                    signal.fire()
                }
                await waiting.value
            }
        }
    }
}
