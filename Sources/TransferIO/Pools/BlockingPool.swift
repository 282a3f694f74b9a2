import Glibc
import Synchronization
import TransferSystem

/// A bounded number of threads for work that can block: disk, name resolution, digests of large blocks. Threads start
/// when there is work for them and live until the pool is closed.
///
/// Who does work for several clients gives each an account: then they share the threads by the time that each has used,
/// and none ever has all of them. Other work is the pool's own, which counts as one more client without such a bound.
package final class BlockingPool: TaskExecutor {
    private struct State {
        var queue: FairQueue
        var threads = 0
        /// Threads that sleep, the one that has worked last at the end: its memory is still in the cache.
        var idle: [ParkedThread] = []
        /// Threads that were woken and have not looked what there is to do.
        var waking = 0
        var isClosed = false

        /// A thread that has to be woken, because there is more work than threads that will look for some.
        mutating func takeSleeper() -> ParkedThread? {
            guard waking < queue.count, let sleeper = idle.popLast() else { return nil }
            waking += 1
            return sleeper
        }
    }

    /// What becomes of work that was added.
    private enum Reaction {
        case wake(ParkedThread)
        case start
        /// Threads that are awake come to it.
        case nothing
    }

    private let name: String
    private let limit: Int
    private let state: Locked<State>
    private let own = PoolAccount(isLimited: false)
    /// Of the queue, for whoever wants to know without its lock.
    private let waiting = Atomic(0)
    /// Counts what was run. It tells Thread Sanitizer what the runtime doesn't when a continuation is resumed before its
    /// task waits: that all of `body` happened before what follows it.
    private let finished = Atomic(0)

    /// - Parameter threads: how many at most; at least 1.
    package init(name: String, threads: Int) {
        self.name = name
        limit = max(1, threads)
        state = Locked(State(queue: FairQueue(threads: limit, processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }

    /// How many threads there are, how many of them have nothing to do, and how much work waits for one.
    package var figures: (threads: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.threads, $0.idle.count, $0.queue.count) }
    }

    /// Whether work waits for a thread, so that who has one should not keep it for long.
    package var isContended: Bool { waiting.load(ordering: .relaxed) > 0 }

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)), for: nil)
    }

    /// Runs `body` on a thread of the pool, after all that was queued for the account before.
    ///
    /// - Parameter account: who pays for it; the pool itself where there is none.
    package func submit(for account: PoolAccount? = nil, _ body: @escaping @Sendable () -> Void) {
        add(.body(body), for: account)
    }

    /// As above, and returns what `body` returns.
    package func run<T: Sendable>(
        for account: PoolAccount? = nil, _ body: @escaping @Sendable () -> T
    ) async -> T {
        let result = await withCheckedContinuation { continuation in
            submit(for: account) {
                let result = body()
                self.finished.wrappingAdd(1, ordering: .releasing)
                continuation.resume(returning: result)
            }
        }
        _ = finished.load(ordering: .acquiring)
        return result
    }

    /// Lets the threads end as soon as there is no work for them; each holds the pool until then. Work may still come.
    package func close() {
        let sleepers = state.withLock { state in
            defer { state.idle = [] }
            state.isClosed = true
            state.waking += state.idle.count
            return state.idle
        }
        for sleeper in sleepers { sleeper.wake() }
    }

    private func add(_ work: PoolWork, for account: PoolAccount?) {
        switch reaction(to: work, of: account ?? own) {
        case .wake(let sleeper): sleeper.wake()
        case .start: startWorker()
        case .nothing: break
        }
    }

    private func reaction(to work: PoolWork, of account: PoolAccount) -> Reaction {
        state.withLock { state in
            state.queue.append(work, for: account)
            waiting.store(state.queue.count, ordering: .relaxed)
            if let sleeper = state.takeSleeper() { return .wake(sleeper) }
            // Each thread that was woken can take only one of those that wait.
            guard state.queue.count > state.waking, state.threads < limit else { return .nothing }
            state.threads += 1
            return .start
        }
    }

    /// Without a single thread nothing queued would ever run, so the work is then done right here: slow, but done.
    private func startWorker() {
        do throws(SystemError) {
            try startThread(name: name) { [self] in work() }
        } catch {
            let isAlone = state.withLock { state in
                state.threads -= 1
                return state.threads == 0
            }
            if isAlone { work(waiting: false) }
        }
    }

    private func work(waiting: Bool = true) {
        let here = ParkedThread()
        var done: Done?
        var (time, used) = (monotonicNanoseconds(), threadNanoseconds())
        while let (work, turn) = next(after: done, at: &time, waiting ? here : nil) {
            perform(work)
            let (end, usedThen) = (monotonicNanoseconds(), threadNanoseconds())
            done = Done(turn: turn, duration: end - time, computing: usedThen - used)
            (time, used) = (end, usedThen)
        }
    }

    private func perform(_ work: PoolWork) {
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
        case .body(let body): body()
        }
    }

    /// Work of a thread that has ended; times in nanoseconds, the second one with a processor.
    private struct Done {
        let turn: FairQueue.Turn
        let duration: Int64
        let computing: Int64
    }

    /// What a thread found that looked for work.
    private enum Found {
        case work(PoolWork, FairQueue.Turn, another: ParkedThread?)
        case sleep
        case end
    }

    /// - Parameters:
    ///   - done: what the thread did before.
    ///   - time: of now; of when it goes on, where it had to wait.
    ///   - here: where it sleeps; nothing for one that doesn't.
    private func next(
        after done: Done?, at time: inout Int64, _ here: ParkedThread?
    ) -> (work: PoolWork, turn: FairQueue.Turn)? {
        var found = state.withLock { [time] state in
            if let done { state.queue.finished(done.turn, after: done.duration, computing: done.computing) }
            return look(&state, at: time, here)
        }
        while true {
            switch found {
            case .work(let work, let turn, let another):
                another?.wake()
                return (work, turn)
            case .end: return nil
            case .sleep:
                here?.sleep()
                time = monotonicNanoseconds()
                found = state.withLock { [time] state in
                    state.waking -= 1
                    return look(&state, at: time, here)
                }
            }
        }
    }

    private func look(_ state: inout State, at time: Int64, _ here: ParkedThread?) -> Found {
        if let (work, turn) = state.queue.next(at: time) {
            waiting.store(state.queue.count, ordering: .relaxed)
            // The end of one work can let two others begin.
            let isMore = !state.idle.isEmpty && state.queue.hasNext(at: time)
            return .work(work, turn, another: isMore ? state.takeSleeper() : nil)
        }
        guard let here else { return .end }
        guard !state.isClosed else {
            state.threads -= 1
            return .end
        }
        state.idle.append(here)
        return .sleep
    }
}
