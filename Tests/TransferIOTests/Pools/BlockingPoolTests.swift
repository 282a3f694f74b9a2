import Glibc
import Testing
import TransferSystem

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct BlockingPoolTests {
    @Test func returnsWhatTheBodyReturns() async {
        let pool = BlockingPool(name: "test-pool", threads: 2)
        defer { pool.close() }
        let name = await pool.run { threadName() }
        #expect(name == "test-pool")
    }

    @Test func runsEverythingAndNeverMoreAtOnceThanItMay() async {
        let pool = BlockingPool(name: "test-pool", threads: 3)
        defer { pool.close() }
        let crowd = Crowd()
        await withTaskGroup { group in
            for _ in 0..<300 {
                group.addTask {
                    await pool.run {
                        crowd.enter()
                        sched_yield()
                        crowd.leave()
                    }
                }
            }
        }
        #expect(crowd.all == 300)
        #expect((1...3).contains(crowd.most))
    }

    @Test func atLeastOneThread() async {
        let pool = BlockingPool(name: "test-pool", threads: 0)
        defer { pool.close() }
        #expect(await pool.run { 7 } == 7)
    }

    /// Each body waits for the other, so both end only if they run on two threads.
    @Test(arguments: 0..<8) func aSecondThreadStartsThoughOneIsIdleWhenWorkComesForTwo(_: Int) async {
        let pool = BlockingPool(name: "test-pool", threads: 2)
        defer { pool.close() }
        await pool.run {}
        let (here, there) = (Gate(), Gate())
        async let first = pool.run {
            there.open()
            return here.pass()
        }
        async let second = pool.run {
            here.open()
            return there.pass()
        }
        let passed = await [first, second]
        #expect(passed == [true, true])
    }

    @Test func oneThreadWorksInOrder() async {
        let pool = BlockingPool(name: "test-pool", threads: 1)
        defer { pool.close() }
        let order = Locked<[Int]>([])
        for number in 0..<200 { pool.submit { order.withLock { $0.append(number) } } }
        await pool.run {}
        #expect(order.withLock { $0 } == Array(0..<200))
    }

    @Test func doneWorkIsLetGoOfWhileMoreWaits() async {
        let pool = BlockingPool(name: "test-pool", threads: 1)
        defer { pool.close() }
        let (start, end) = (Gate(), Gate())
        let (witness, gone) = Witness.make()
        // All three bodies are queued before the first one runs.
        pool.submit { _ = start.pass() }
        pool.submit { [witness] in withExtendedLifetime(witness) {} }
        pool.submit { #expect(end.pass()) }
        async let last: Void = pool.run {}
        _ = consume witness
        start.open()
        await gone.finished()
        end.open()
        await last
    }

    @Test(arguments: [0, 1, 50]) func aClosedPoolStillDoesItsWork(before count: Int) async {
        let pool = BlockingPool(name: "test-pool", threads: 2)
        let crowd = Crowd()
        for _ in 0..<count { pool.submit { crowd.enter() } }
        pool.close()
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { await pool.run { crowd.enter() } } }
        }
        // Bodies that were queued before the close began to run before it.
        #expect(crowd.all >= 50 + count - 1)
        pool.close()
    }

    /// One account has long work on all its threads, and another account has work afterwards.
    @Test func anotherAccountFindsAThread() async {
        let pool = BlockingPool(name: "test-pool", threads: 4)
        defer { pool.close() }
        let (greedy, other) = (PoolAccount(), PoolAccount())
        let end = Gate()
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { await pool.run(for: greedy) { _ = end.pass() } } }
            while !pool.isContended { await Task.yield() }
            let number = await pool.run(for: other) { 7 }
            #expect(number == 7)
            end.open(20)
        }
        #expect(!pool.isContended)
    }

    /// The end of each body lets another begin; no account may be forgotten.
    @Test(arguments: [1, 2, 5]) func allAccountsAreServed(threads: Int) async {
        let pool = BlockingPool(name: "test-pool", threads: threads)
        defer { pool.close() }
        let accounts = (0..<7).map { _ in PoolAccount() }
        let crowd = Crowd()
        await withTaskGroup { group in
            for number in 0..<700 {
                group.addTask {
                    await pool.run(for: accounts[number % 7]) {
                        crowd.enter()
                        sched_yield()
                        crowd.leave()
                    }
                }
            }
        }
        #expect(crowd.all == 700)
        #expect((1...threads).contains(crowd.most))
    }

    /// Computes for a while, and returns the priority of the thread.
    private func compute() -> Int32 {
        let end = threadNanoseconds() + 2_000_000
        while threadNanoseconds() < end {}
        return ThreadPriority.current
    }

    /// Clients that cause more work than they pay for get threads of a lower priority. Other clients keep the usual
    /// priority, and so do threads that are started later.
    @Test func whoComputesBesideOthersGivesWay() async {
        let pool = BlockingPool(name: "test-pool", threads: 4)
        defer { pool.close() }
        let usual = ThreadPriority.current
        let (crowd, payer) = ((0..<3).map { _ in PoolAccount() }, PoolAccount())
        var lowered: Set<Int> = []
        var (rounds, more) = (0, 50)
        while lowered.count < crowd.count || more > 0, rounds < 10_000 {
            rounds += 1
            if lowered.count == crowd.count { more -= 1 }
            await withTaskGroup { group in
                for (index, account) in crowd.enumerated() {
                    group.addTask { (index, await pool.run(for: account) { compute() }) }
                }
                payer.bring(1 << 20)
                group.addTask { (-1, await pool.run(for: payer) { compute() }) }
                for await (index, priority) in group {
                    if index < 0 { #expect(priority == usual) } else if priority > usual { lowered.insert(index) }
                }
            }
        }
        #expect(lowered == [0, 1, 2])
        let own = await pool.run { ThreadPriority.current }
        #expect(own == usual)
    }

    /// The thread's cache still holds useful data.
    @Test func theThreadThatHasWorkedLastWorksNext() async {
        let pool = BlockingPool(name: "test-pool", threads: 4)
        defer { pool.close() }
        let gates = (0..<4).map { _ in Gate() }
        await withTaskGroup { group in
            // Each body needs its own thread.
            for number in 0..<4 {
                group.addTask {
                    await pool.run {
                        gates[number].open(3)
                        for other in 0..<4 where other != number { _ = gates[other].pass() }
                    }
                }
            }
        }
        var last: pthread_t?
        for _ in 0..<50 {
            while pool.figures.idle < 4 { await Task.yield() }
            let thread = await pool.run { pthread_self() }
            #expect(thread == last ?? thread)
            last = thread
        }
    }

    @Test func tasksThatPreferItRunOnIt() async {
        let pool = BlockingPool(name: "test-pool", threads: 2)
        defer { pool.close() }
        let crowd = Crowd()
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask(executorPreference: pool) {
                    #expect(threadName() == "test-pool")
                    crowd.enter()
                    sched_yield()
                    crowd.leave()
                    await Task.yield()
                    #expect(threadName() == "test-pool")
                }
            }
        }
        #expect(crowd.all == 50)
        #expect((1...2).contains(crowd.most))
    }
}
