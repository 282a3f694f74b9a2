import Testing
import TransferIO

@Suite(.timeLimit(.minutes(10))) struct PermitsTests {
    @Test func neverMoreThanThereAre() async {
        let permits = Permits(3)
        let holders = Crowd()
        await withTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<100 {
                        await permits.acquire()
                        holders.enter()
                        await Task.yield()
                        holders.leave()
                        permits.release()
                    }
                }
            }
        }
        #expect(holders.all == 1600)
        #expect((1...3).contains(holders.most))
    }

    @Test func whoWaitsIsServedInTurn() async throws {
        try await onLoop { actor in
            let permits = Permits(1)
            await permits.acquire()
            var served: [Int] = []
            let waiting = (0..<5).map { number in
                Task.immediate(executorPreference: actor.loop) {
                    _ = actor
                    await permits.acquire()
                    served.append(number)
                    permits.release()
                }
            }
            // The loop runs queued jobs in order: all tasks wait by the time this one has run.
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            #expect(served.isEmpty)
            permits.release()
            for task in waiting { await task.value }
            #expect(served == [0, 1, 2, 3, 4])
            // The last task has released its permit.
            await permits.acquire()
        }
    }

    @Test(arguments: [0, -1]) func withoutAnyEverybodyWaits(count: Int) async throws {
        try await onLoop { actor in
            let permits = Permits(count)
            var isServed = false
            let waiting = Task.immediate(executorPreference: actor.loop) {
                _ = actor
                await permits.acquire()
                isServed = true
            }
            await Task.immediate(executorPreference: actor.loop) { _ = actor }.value
            #expect(!isServed)
            permits.release()
            await waiting.value
        }
    }
}
