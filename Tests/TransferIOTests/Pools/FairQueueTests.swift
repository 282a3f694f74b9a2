import Testing
import TransferSystem

@testable import TransferIO

@Suite struct FairQueueTests {
    private let second: Int64 = 1_000_000_000

    private func append(_ count: Int, to queue: inout FairQueue, _ account: PoolAccount) {
        for _ in 0..<count { queue.append(.body({}), for: account) }
    }

    /// Lets one thread work for `count` turns, each as long as the account's work takes, and counts the turns of each
    /// account.
    private func turns(
        _ count: Int, of queue: inout FairQueue, _ durations: [(account: PoolAccount, duration: Int64)]
    ) -> [Int] {
        var taken = durations.map { _ in 0 }
        for _ in 0..<count {
            let before = durations.map(\.account.running)
            guard let (_, turn) = queue.next(at: 0) else { break }
            let index = durations.indices.first { durations[$0].account.running > before[$0] } ?? 0
            taken[index] += 1
            queue.finished(turn, after: durations[index].duration, computing: durations[index].duration)
        }
        return taken
    }

    @Test func timeIsSharedAndNotTurns() {
        var queue = FairQueue(threads: 1, processors: 8)
        let (costly, cheap) = (PoolAccount(), PoolAccount())
        append(1000, to: &queue, costly)
        append(1000, to: &queue, cheap)
        let taken = turns(110, of: &queue, [(costly, 10_000), (cheap, 1_000)])
        #expect((9...12).contains(taken[0]), "\(taken)")
    }

    /// However long the others have worked, a new account is next, but has only one turn in advance.
    @Test func whoeverComesNeitherWaitsNorSavesUp() {
        var queue = FairQueue(threads: 1, processors: 8)
        let (busy, idle) = (PoolAccount(), PoolAccount())
        append(1000, to: &queue, busy)
        #expect(turns(500, of: &queue, [(busy, second)]) == [500])
        append(100, to: &queue, idle)
        let first = turns(1, of: &queue, [(busy, second), (idle, second)])
        let next = turns(20, of: &queue, [(busy, second), (idle, second)])
        #expect(first == [0, 1])
        #expect((9...11).contains(next[0]), "\(next)")
    }

    /// The limit holds whether or not another account has work waiting.
    @Test func anAccountNeverHasAllThreads() {
        var queue = FairQueue(threads: 8, processors: 8)
        let (greedy, other) = (PoolAccount(), PoolAccount())
        append(100, to: &queue, greedy)
        var turns: [FairQueue.Turn] = []
        while let (_, turn) = queue.next(at: 0) { turns.append(turn) }
        #expect(greedy.running == 6 && !queue.hasNext(at: 0))
        append(10, to: &queue, other)
        #expect(queue.hasNext(at: 0))
        while let (_, turn) = queue.next(at: 0) { turns.append(turn) }
        #expect(other.running == 1 && greedy.running == 6)
        // While another account has work, an account leaves three times as many threads free as it uses.
        for turn in turns { queue.finished(turn, after: 1, computing: 0) }
        turns = []
        while let (_, turn) = queue.next(at: second) { turns.append(turn) }
        #expect(greedy.running + other.running == 3 && max(greedy.running, other.running) == 2)
        for turn in turns { queue.finished(turn, after: 1, computing: 0) }
    }

    /// One thread stays free for a new account, however many other accounts have work, and however long that work
    /// takes.
    @Test func oneThreadIsLeftToWhoeverComes() {
        var queue = FairQueue(threads: 8, processors: 8)
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
        for turn in running { queue.finished(turn, after: 1000, computing: 0) }
    }

    @Test func evenOneThreadWorksForEverybody() {
        for threads in 1...3 {
            var queue = FairQueue(threads: threads, processors: 8)
            let accounts = (0..<4).map { _ in PoolAccount() }
            for account in accounts { append(2, to: &queue, account) }
            var count = 0
            while let (_, turn) = queue.next(at: 0) {
                queue.finished(turn, after: 5, computing: 0)
                count += 1
            }
            #expect(count == 8 && queue.count == 0)
        }
    }

    /// The pool's own work may use all threads, as on a client, which serves only itself.
    @Test func ownWorkHasNoBound() {
        var queue = FairQueue(threads: 3, processors: 8)
        let own = PoolAccount(isLimited: false)
        append(5, to: &queue, own)
        while queue.next(at: 0) != nil {}
        #expect(own.running == 3 && queue.count == 2)
    }

    /// Works once for each account, computing all the time: for the first account for `duration`, and for each further
    /// account a bit longer.
    private func compute(_ queue: inout FairQueue, _ accounts: [PoolAccount], for duration: Int64) {
        for (index, account) in accounts.enumerated() {
            queue.append(.body({}), for: account)
            guard let (_, turn) = queue.next(at: 0) else { continue }
            queue.finished(turn, after: duration + Int64(index), computing: duration + Int64(index))
        }
    }

    /// More threads than processors would not be faster. Work that waits for a disk may use all threads.
    @Test func workThatComputesHasAsManyThreadsAsThereAreProcessors() {
        for (computing, most) in [(second / 100, 2), (0, 8)] {
            var queue = FairQueue(threads: 8, processors: 2)
            let crowd = (0..<16).map { _ in PoolAccount() }
            for account in crowd {
                queue.append(.body({}), for: account)
                guard let (_, turn) = queue.next(at: 0) else { continue }
                queue.finished(turn, after: second / 100, computing: computing)
            }
            for account in crowd { append(1, to: &queue, account) }
            var running: [FairQueue.Turn] = []
            while let (_, turn) = queue.next(at: 0) { running.append(turn) }
            #expect(running.count == most)
            for turn in running { queue.finished(turn, after: second / 100, computing: computing) }
        }
    }

    /// A little computation does not keep other work from a processor.
    @Test func shortWorkIsNotHeldBack() {
        var queue = FairQueue(threads: 8, processors: 1)
        let crowd = (0..<4).map { _ in PoolAccount() }
        compute(&queue, crowd, for: 50_000)
        for account in crowd { append(1, to: &queue, account) }
        var count = 0
        while queue.next(at: 0) != nil { count += 1 }
        #expect(count == 4)
    }

    /// Computation that has not been paid for gives way to other accounts, but not if there are no others.
    @Test func whatComputesGivesWayToOthers() {
        var queue = FairQueue(threads: 8, processors: 2)
        let (greedy, payer) = (PoolAccount(), PoolAccount())
        compute(&queue, [greedy], for: second / 100)
        append(1, to: &queue, greedy)
        #expect(!queue.hasNext(.givingWay, at: 0) && queue.hasNext(.notGivingWay, at: 0))
        compute(&queue, [greedy, payer], for: second / 100)
        append(1, to: &queue, payer)
        payer.bring(4 << 20)
        append(1, to: &queue, payer)
        let (gives, keeps) = (queue.next(.givingWay, at: 0), queue.next(.notGivingWay, at: 0))
        #expect(gives?.turn.givesWay == true && greedy.running == 1)
        #expect(keeps?.turn.givesWay == false && payer.running == 1)
        // A few bytes do not pay for much work.
        payer.credit = 1000
        #expect(payer.isCrowding)
        // No other account has had work for a while.
        #expect(!queue.hasNext(.givingWay, at: 2 * second))
    }

    /// If two accounts have equal work, the one that sent bytes for it runs more often, and the other one runs as well.
    @Test func bytesPayForWork() {
        var queue = FairQueue(threads: 1, processors: 1)
        let (sender, other) = (PoolAccount(), PoolAccount())
        append(1000, to: &queue, sender)
        append(1000, to: &queue, other)
        sender.bring(1 << 20)
        let paid = turns(17, of: &queue, [(sender, 1_000_000), (other, 1_000_000)])
        #expect(paid[0] >= 13 && paid[1] >= 1, "\(paid)")
        // The account has used up the credit for its bytes.
        let after = turns(40, of: &queue, [(sender, 1_000_000), (other, 1_000_000)])
        #expect((15...25).contains(after[1]), "\(after)")
    }

    /// However many bytes an account sends, it saves up a tenth of a second at most.
    @Test func creditIsBounded() {
        let account = PoolAccount()
        for _ in 0..<4 {
            account.bring(.max)
            account.takeCredit()
        }
        #expect(account.credit == second / 10)
    }

    /// Work that may not run now stops the virtual time, so that a new account does not queue behind all waiting work.
    @Test func whoeverComesIsBeforeThoseThatAreHeldBack() {
        var queue = FairQueue(threads: 8, processors: 1)
        let (crowd, slow) = ((0..<8).map { _ in PoolAccount() }, PoolAccount())
        compute(&queue, crowd, for: second / 100)
        for account in crowd { append(10, to: &queue, account) }
        guard let (_, held) = queue.next(at: 0) else { Issue.record("no thread works"); return }
        // Another account, whose work waits for a disk, advances far ahead of the waiting accounts.
        for _ in 0..<50 {
            queue.append(.body({}), for: slow)
            guard let (_, turn) = queue.next(at: 0) else { continue }
            queue.finished(turn, after: second, computing: 0)
        }
        queue.finished(held, after: second / 100, computing: second / 100)
        let newcomer = PoolAccount()
        append(1, to: &queue, newcomer)
        // Only the account that has waited longest has as low a virtual time as the new account.
        for _ in 0..<2 where newcomer.running == 0 {
            guard let (_, turn) = queue.next(at: 0) else { break }
            if newcomer.running == 0 { queue.finished(turn, after: second / 100, computing: second / 100) }
        }
        #expect(newcomer.running == 1)
    }
}
