import Testing
import TransferSystem

@testable import TransferIO

@Suite struct FairQueueTests {
    private let second: Int64 = 1_000_000_000

    private func append(_ count: Int, to queue: inout FairQueue, _ account: PoolAccount) {
        for _ in 0..<count { queue.append(.body({}), for: account) }
    }

    /// Lets one thread work for `count` turns, each as long as the account's work takes, and counts them.
    private func turns(
        _ count: Int, of queue: inout FairQueue, _ durations: [(account: PoolAccount, duration: Int64)]
    ) -> [Int] {
        var taken = durations.map { _ in 0 }
        for _ in 0..<count {
            let before = durations.map(\.account.running)
            guard let (_, turn) = queue.next(at: 0) else { break }
            let index = durations.indices.first { durations[$0].account.running > before[$0] } ?? 0
            taken[index] += 1
            queue.finished(turn, after: durations[index].duration)
        }
        return taken
    }

    @Test func timeIsSharedAndNotTurns() {
        var queue = FairQueue(threads: 1)
        let (costly, cheap) = (PoolAccount(), PoolAccount())
        append(1000, to: &queue, costly)
        append(1000, to: &queue, cheap)
        let taken = turns(110, of: &queue, [(costly, 10_000), (cheap, 1_000)])
        #expect((9...12).contains(taken[0]), "\(taken)")
    }

    /// However long the others have been at work, whoever comes is next, and not more often than that.
    @Test func whoeverComesNeitherWaitsNorSavesUp() {
        var queue = FairQueue(threads: 1)
        let (busy, idle) = (PoolAccount(), PoolAccount())
        append(1000, to: &queue, busy)
        #expect(turns(500, of: &queue, [(busy, second)]) == [500])
        append(100, to: &queue, idle)
        let first = turns(1, of: &queue, [(busy, second), (idle, second)])
        let next = turns(20, of: &queue, [(busy, second), (idle, second)])
        #expect(first == [0, 1])
        #expect((9...11).contains(next[0]), "\(next)")
    }

    /// Whether it is its own work that an account waits for, or nobody's.
    @Test func anAccountNeverHasAllThreads() {
        var queue = FairQueue(threads: 8)
        let (greedy, other) = (PoolAccount(), PoolAccount())
        append(100, to: &queue, greedy)
        var turns: [FairQueue.Turn] = []
        while let (_, turn) = queue.next(at: 0) { turns.append(turn) }
        #expect(greedy.running == 6 && !queue.hasNext(at: 0))
        append(10, to: &queue, other)
        #expect(queue.hasNext(at: 0))
        while let (_, turn) = queue.next(at: 0) { turns.append(turn) }
        #expect(other.running == 1 && greedy.running == 6)
        // While there is another, it leaves three times as many free as it has.
        for turn in turns { queue.finished(turn, after: 1) }
        turns = []
        while let (_, turn) = queue.next(at: second) { turns.append(turn) }
        #expect(greedy.running + other.running == 3 && max(greedy.running, other.running) == 2)
        for turn in turns { queue.finished(turn, after: 1) }
    }

    /// However many others have work, all of which may be long.
    @Test func oneThreadIsLeftToWhoeverComes() {
        var queue = FairQueue(threads: 8)
        let crowd = (0..<16).map { _ in PoolAccount() }
        for account in crowd { append(100, to: &queue, account) }
        let durations = crowd.enumerated().map { (account: $1, duration: Int64(1000 + $0)) }
        #expect(turns(160, of: &queue, durations).allSatisfy { $0 > 0 })
        var running: [FairQueue.Turn] = []
        while let (_, turn) = queue.next(at: 0) { running.append(turn) }
        #expect(running.count == 7)
        let newcomer = PoolAccount()
        append(2, to: &queue, newcomer)
        if let (_, turn) = queue.next(at: 0) { running.append(turn) }
        #expect(newcomer.running == 1 && queue.next(at: 0) == nil)
        for turn in running { queue.finished(turn, after: 1000) }
    }

    @Test func evenOneThreadWorksForEverybody() {
        for threads in 1...3 {
            var queue = FairQueue(threads: threads)
            let accounts = (0..<4).map { _ in PoolAccount() }
            for account in accounts { append(2, to: &queue, account) }
            var count = 0
            while let (_, turn) = queue.next(at: 0) {
                queue.finished(turn, after: 5)
                count += 1
            }
            #expect(count == 8 && queue.count == 0)
        }
    }

    /// The pool's own work may have all threads, as for a client that has no others to think of.
    @Test func ownWorkHasNoBound() {
        var queue = FairQueue(threads: 3)
        let own = PoolAccount(isLimited: false)
        append(5, to: &queue, own)
        while queue.next(at: 0) != nil {}
        #expect(own.running == 3 && queue.count == 2)
    }
}
