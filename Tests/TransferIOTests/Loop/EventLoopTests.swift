import Glibc
import Testing
import TransferSystem

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
    @Test func anActorOfTheLoopRunsOnItsThread() async throws {
        try await onLoop { actor in
            #expect(threadName() == "test-loop")
            #expect(actor.loop.isIsolatingCurrentContext() == true)
            await Task.yield()
            #expect(threadName() == "test-loop")
            try await onLoop { other in
                #expect(other.loop.isIsolatingCurrentContext() == true)
                #expect(actor.loop.isIsolatingCurrentContext() == false)
            }
            #expect(threadName() == "test-loop")
        }
    }

    @Test func aTaskThatPrefersTheLoopRunsOnItsThread() async throws {
        let loop = try EventLoop(name: "test-loop")
        defer { loop.stop() }
        #expect(loop.isIsolatingCurrentContext() == false)
        await withTaskExecutorPreference(loop) {
            #expect(threadName() == "test-loop")
            await Task.yield()
            #expect(threadName() == "test-loop")
        }
        #expect(threadName() != "test-loop")
    }

    /// If the task were resumed on another thread first, the task that is queued after it would run before it.
    @Test func aTaskThatPrefersTheLoopIsResumedOnItsThread() async throws {
        try await onLoop { actor in
            let signal = Signal()
            var order: [String] = []
            let waiting = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await signal.wait()
                order.append("resumed")
            }
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            signal.fire()
            let later = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                order.append("later")
            }
            await waiting.value
            await later.value
            #expect(order == ["resumed", "later"])
        }
    }

    @Test func jobsFromManyThreadsAllRun() async throws {
        try await onLoop { actor in
            nonisolated(unsafe) var count = 0
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<500 { await actor.run { _ in count += 1 } }
                    }
                }
            }
            #expect(count == 4000)
        }
    }

    @Test func jobsRunInTheOrderInWhichTheyCame() async throws {
        try await onLoop { actor in
            var order: [Int] = []
            let tasks = (0..<100).map { number in
                Task.immediate(executorPreference: actor.loop) {
                    _ = actor
                    order.append(number)
                }
            }
            for task in tasks { await task.value }
            #expect(order == Array(0..<100))
        }
    }

    @Test func jobsThatAlwaysCauseOthersKeepNobodyWaiting() async throws {
        let rally = Rally(try EventLoop(name: "test-loop"))
        defer { rally.loop.stop() }
        await withTaskExecutorPreference(rally.loop) {
            async let serving: Void = rally.serve()
            async let returning: Void = rally.giveBack()
            _ = await (serving, returning)
        }
        #expect(await rally.rounds < Rally.most)
    }

    /// Two tasks that wake each other, so that the loop always has a job.
    private actor Rally {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private var isTimeUp = false
        private let (ping, pong) = (Signal(), Signal())
        private(set) var rounds = 0

        /// Limits the rounds, so that the test ends even if the timer never fires.
        static let most = 100_000
        private var goesOn: Bool { !isTimeUp && rounds < Self.most }

        init(_ loop: EventLoop) {
            self.loop = loop
        }

        func serve() async {
            while goesOn {
                rounds += 1
                ping.fire()
                await pong.wait()
                // After ten rounds, both tasks run.
                if rounds == 10 {
                    _ = loop.schedule(at: 0) { self.assumeIsolated { $0.isTimeUp = true } }
                }
            }
            ping.fire()
        }

        func giveBack() async {
            while goesOn {
                await ping.wait()
                pong.fire()
            }
        }
    }

    @Test func stopEndsTheThreadAndLetsGoOfTheLoop() async throws {
        func startAndStop() async throws -> AsyncStream<Void> {
            let (witness, gone) = Witness.make()
            try await onLoop { actor in
                _ = actor.loop.schedule(at: .max) { withExtendedLifetime(witness) {} }
            }
            return gone
        }
        await (try startAndStop()).finished()
    }

    @Test func stopRunsWhatIsQueued() async throws {
        let actor = LoopActor(try EventLoop(name: "test-loop"))
        let tasks = await actor.run { actor in
            defer { actor.loop.stop() }
            return (0..<10).map { number in
                Task.immediate(executorPreference: actor.loop) {
                    _ = actor
                    // Jobs that these tasks queue in turn run as well.
                    await Task.yield()
                    return number
                }
            }
        }
        for (number, task) in tasks.enumerated() { #expect(await task.value == number) }
    }
}

extension EventLoopTests {
    /// A loop needs two descriptors. If it gets only one, it must return that one, or the next attempt would fail
    /// earlier.
    @Test(.takesTurns) func withoutDescriptorsThereIsNoLoopAndNothingIsLost() async {
        await #expect(processExitsWith: .success) {
            try await onLoop { _ in
                var descriptors = try OwnDescriptors()
                descriptors.takeAll()
                #expect(throws: SystemError(errno: EMFILE, call: "epoll_create1")) { _ = try EventLoop(name: "none") }
                descriptors.giveBack()
                for _ in 0..<3 {
                    #expect(throws: SystemError(errno: EMFILE, call: "eventfd")) { _ = try EventLoop(name: "none") }
                }
                descriptors.giveBack()
                try EventLoop(name: "one").stop()
            }
        }
    }
}
