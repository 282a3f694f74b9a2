import Glibc
import Testing
import TransferSystem

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct EventLoopTimerTests {
    /// Waits until the loop has looked for due timers and has fired one.
    private static func aRound(of actor: isolated LoopActor) async {
        let done = Signal()
        _ = actor.loop.schedule(at: monotonicNanoseconds() + 1) { done.fire() }
        await done.wait()
    }

    @Test func timersFireInTheOrderOfTheirDeadlines() async throws {
        try await onLoop { actor in
            let start = monotonicNanoseconds()
            let done = Signal()
            var fired: [Int64] = []
            for delay in [3, 1, 5, 2, 4] as [Int64] {
                let deadline = start + delay * 1_000_000
                _ = actor.loop.schedule(at: deadline) {
                    #expect(monotonicNanoseconds() >= deadline)
                    #expect(actor.loop.isIsolatingCurrentContext() == true)
                    fired.append(delay)
                    if delay == 5 { done.fire() }
                }
            }
            await done.wait()
            #expect(fired == [1, 2, 3, 4, 5])
        }
    }

    @Test func cancelledTimersDoNotFire() async throws {
        try await onLoop { actor in
            let now = monotonicNanoseconds()
            let done = Signal()
            let first = actor.loop.schedule(at: now) { Issue.record("cancelled before") }
            actor.loop.cancel(first)
            var last: EventLoop.Timer?
            _ = actor.loop.schedule(at: now + 1) {
                // The last timer is due at the same time as this one.
                if let last { actor.loop.cancel(last) }
            }
            last = actor.loop.schedule(at: now + 2) { Issue.record("cancelled by another") }
            _ = actor.loop.schedule(at: now + 3) { done.fire() }
            await done.wait()
            if let last { actor.loop.cancel(last) }
        }
    }

    @Test func aCallbackMayScheduleAnother() async throws {
        try await onLoop { actor in
            let done = Signal()
            let loop = actor.loop
            _ = loop.schedule(at: 0) {
                _ = loop.schedule(at: 0) { done.fire() }
            }
            await done.wait()
        }
    }

    /// A process that was stopped finds many expired timers and many answers at once: the answers count.
    @Test func whatHasArrivedIsSeenBeforeATimeIsUp() async throws {
        try await onLoop { actor in
            let numbers = try SocketPair.numbers()
            let far = Descriptor(numbers.far)
            let socket = try StreamSocket(Descriptor(numbers.near), loop: actor.loop)
            defer { socket.close() }
            let done = Signal()
            var seen: [String] = []
            Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await socket.readable.wait()
                seen.append("bytes")
            }
            _ = actor.loop.schedule(at: monotonicNanoseconds()) {
                seen.append("timer")
                done.fire()
            }
            var byte: UInt8 = 1
            try system("write") { write(far.number, &byte, 1) }
            await done.wait()
            #expect(seen == ["bytes", "timer"])
        }
    }

    @Test func whoeverWaitsForAMomentGoesOnThenAndThere() async throws {
        try await onLoop { actor in
            let moment = monotonicNanoseconds() + 2_000_000
            await actor.loop.wait(until: moment)
            #expect(monotonicNanoseconds() >= moment)
            #expect(threadName() == "test-loop")
            for past in [moment, 0, .min] { await actor.loop.wait(until: past) }
        }
    }

    @Test func aDeadlineThatNeverComesDoesNotKeepTheLoopFromOthers() async throws {
        try await onLoop { actor in
            let never = actor.loop.schedule(at: .max) { Issue.record("the end of time") }
            await Self.aRound(of: actor)
            actor.loop.cancel(never)
        }
    }

    @Test func whoeverWaitsForEverIsNotWokenAtOnce() async throws {
        try await onLoop { actor in
            var isAwake = false
            // The task is never woken and never ends; the loop ends.
            Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await actor.loop.wait(until: .max)
                isAwake = true
            }
            await Self.aRound(of: actor)
            #expect(!isAwake)
        }
    }
}
