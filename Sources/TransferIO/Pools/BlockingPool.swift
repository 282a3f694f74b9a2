import Glibc
import Synchronization
import TransferSystem

/// A bounded number of threads for work that can block: disk, name resolution, digests of large blocks. Threads start
/// when there is work for them and live until the pool is closed.
///
/// Who does work for several clients gives each an account: then they share the threads by the time that each has used,
/// and none ever has all of them. Other work is the pool's own, which counts as one more client without such a bound.
///
/// Threads with a lower priority do the work that gives way to other clients (`FairQueue.Turn.givesWay`). A thread that takes such work
/// lowers its priority, and the pool starts a new thread with the usual priority.
package final class BlockingPool: TaskExecutor {
    /// Threads of one priority.
    private struct Crew {
        var threads = 0
        /// Threads that sleep, the one that has worked last at the end: its memory is still in the cache.
        var idle: [ParkedThread] = []
        /// Threads that were woken and have not looked what there is to do.
        var waking = 0

        /// A thread that has to be woken, because there is more work than threads that will look for some.
        mutating func takeSleeper(for choice: FairQueue.Choice, of queue: FairQueue, at time: Int64) -> ParkedThread? {
            guard waking < queue.count, !idle.isEmpty, queue.hasNext(choice, at: time) else { return nil }
            waking += 1
            return idle.popLast()
        }

        mutating func wakeAll() -> [ParkedThread] {
            defer { idle = [] }
            waking += idle.count
            return idle
        }
    }

    private enum Rank {
        case usual, lowered
    }

    private struct State {
        var queue: FairQueue
        /// The most threads of a lower priority. More of them would find nothing to do, because `FairQueue` lets no more of them run.
        let mostLowered: Int
        var usual = Crew()
        var lowered = Crew()
        /// The threads of `lowered`.
        var loweredThreads: Set<pthread_t> = []
        var isClosed = false

        subscript(rank: Rank) -> Crew {
            get { rank == .usual ? usual : lowered }
            _modify {
                switch rank {
                case .usual: yield &usual
                case .lowered: yield &lowered
                }
            }
        }

        func choice(of rank: Rank) -> FairQueue.Choice {
            switch rank {
            case .usual: lowered.threads < mostLowered ? .any : .notGivingWay
            case .lowered: .givingWay
            }
        }

        mutating func takeSleeper(at time: Int64) -> ParkedThread? {
            lowered.takeSleeper(for: .givingWay, of: queue, at: time)
                ?? usual.takeSleeper(for: choice(of: .usual), of: queue, at: time)
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
    package let limit: Int
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
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        state = Locked(State(queue: FairQueue(threads: limit, processors: processors), mostLowered: processors))
    }

    /// How many threads there are, how many of them have nothing to do, and how much work waits for one.
    package var figures: (threads: Int, idle: Int, waiting: Int) {
        state.withLock { state in
            (
                state.usual.threads + state.lowered.threads, state.usual.idle.count + state.lowered.idle.count,
                state.queue.count
            )
        }
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
            state.isClosed = true
            return state.usual.wakeAll() + state.lowered.wakeAll()
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
            if let sleeper = state.takeSleeper(at: monotonicNanoseconds()) { return .wake(sleeper) }
            // Each thread that was woken can take only one of those that wait.
            guard state.queue.count > state.usual.waking, state.usual.threads < limit else { return .nothing }
            // It would have the priority of the one that starts it.
            guard !state.loweredThreads.contains(pthread_self()) else { return .nothing }
            state.usual.threads += 1
            return .start
        }
    }

    /// Without a single thread nothing queued would ever run, so the work is then done right here: slow, but done.
    private func startWorker() {
        do throws(SystemError) {
            try startThread(name: name) { [self] in work() }
        } catch {
            let isAlone = state.withLock { state in
                state.usual.threads -= 1
                return state.usual.threads == 0
            }
            if isAlone { work(waiting: false) }
        }
    }

    private func work(waiting: Bool = true) {
        let here = ParkedThread()
        var rank = Rank.usual
        var done: Done?
        var (time, used) = (monotonicNanoseconds(), threadNanoseconds())
        while let (work, turn) = next(after: done, as: rank, at: &time, waiting ? here : nil) {
            if waiting, rank == .usual, turn.givesWay, replace() { rank = .lowered }
            perform(work)
            let (end, usedThen) = (monotonicNanoseconds(), threadNanoseconds())
            done = Done(turn: turn, duration: end - time, computing: usedThen - used)
            (time, used) = (end, usedThen)
        }
    }

    /// Lowers the priority of the calling thread and starts another one in its place.
    ///
    /// - Returns: false where there are enough of lower priority, or no thread to have.
    private func replace() -> Bool {
        let thread = pthread_self()
        let isNeeded = state.withLock { state in
            guard state.lowered.threads < state.mostLowered else { return false }
            state.lowered.threads += 1
            return state.loweredThreads.insert(thread).inserted
        }
        guard isNeeded else { return false }
        do throws(SystemError) {
            try startThread(name: name) { [self] in work() }
            ThreadPriority.lower()
            return true
        } catch {
            state.withLock { state in leaveLowered(&state) }
            return false
        }
    }

    private func leaveLowered(_ state: inout State) {
        state.lowered.threads -= 1
        state.loweredThreads.remove(pthread_self())
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

    /// What a thread found that looked for work, and another thread that has to be woken.
    private enum Found {
        case work(PoolWork, FairQueue.Turn, another: ParkedThread?)
        case sleep(another: ParkedThread?)
        case end
    }

    /// - Parameters:
    ///   - done: what the thread did before.
    ///   - rank: of the thread.
    ///   - time: of now; of when it goes on, where it had to wait.
    ///   - here: where it sleeps; nil for one that doesn't.
    private func next(
        after done: Done?, as rank: Rank, at time: inout Int64, _ here: ParkedThread?
    ) -> (work: PoolWork, turn: FairQueue.Turn)? {
        var found = state.withLock { [time] state in
            if let done { state.queue.finished(done.turn, after: done.duration, computing: done.computing) }
            return look(&state, as: rank, at: time, here)
        }
        while true {
            switch found {
            case .work(let work, let turn, let another):
                another?.wake()
                return (work, turn)
            case .end: return nil
            case .sleep(let another):
                another?.wake()
                here?.sleep()
                time = monotonicNanoseconds()
                found = state.withLock { [time] state in
                    state[rank].waking -= 1
                    return look(&state, as: rank, at: time, here)
                }
            }
        }
    }

    private func look(_ state: inout State, as rank: Rank, at time: Int64, _ here: ParkedThread?) -> Found {
        let choice = here == nil ? .any : state.choice(of: rank)
        if let (work, turn) = state.queue.next(choice, at: time) {
            waiting.store(state.queue.count, ordering: .relaxed)
            // The end of one work can let two others begin.
            return .work(work, turn, another: state.takeSleeper(at: time))
        }
        guard let here else { return .end }
        guard !state.isClosed else {
            switch rank {
            case .usual: state.usual.threads -= 1
            case .lowered: leaveLowered(&state)
            }
            return .end
        }
        state[rank].idle.append(here)
        // Work that this thread may not take may be for a thread of the other priority: an account may have given way when its work came,
        // and not give way now.
        return .sleep(another: state.takeSleeper(at: time))
    }
}
