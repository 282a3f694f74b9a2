import Glibc
import Synchronization
import TransferSystem

/// A bounded number of threads for work that can block: disk, name resolution, digests of large blocks. Threads start
/// when there is work for them and live until the pool is closed.
///
/// A caller that works for several clients gives each client an account. Accounts share the threads according to the
/// time that each has used, and no account ever has all threads. Other work belongs to the pool's own account, which
/// has no such limit.
///
/// Threads with lower priority do work that gives way to other clients (`FairQueue.Turn.givesWay`). A thread that takes
/// such work lowers its priority, and the pool starts another thread with the usual priority.
package final class BlockingPool: TaskExecutor {
    /// The threads of one priority.
    private struct Crew {
        var threads = 0
        /// Sleeping threads. The thread that worked last is at the end and is woken first, because its memory is still
        /// in the cache.
        var idle: [ParkedThread] = []
        /// Threads that were woken and have not looked for work yet.
        var waking = 0

        /// Returns a thread to wake, if there is more work than threads that will look for it.
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
        /// Most threads of lower priority. `FairQueue` lets no more of them run.
        let mostLowered: Int
        var usual = Crew()
        var lowered = Crew()
        /// IDs of the threads with lower priority, by which a thread finds out whether it is one of them.
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

    /// What has to be done after work was added.
    private enum Reaction {
        case wake(ParkedThread)
        case start
        /// Threads that are awake will take the work.
        case nothing
    }

    private let name: String
    package let limit: Int
    private let state: Locked<State>
    private let own = PoolAccount(isLimited: false)
    /// Number of waiting tasks, which can be read without the lock.
    private let waiting = Atomic(0)
    /// Counts finished work. This shows Thread Sanitizer that all of `body` happens before the code after it, which the
    /// sanitizer misses if a continuation is resumed before its task waits.
    private let finished = Atomic(0)

    /// - Parameter threads: most threads of usual priority; at least 1.
    package init(name: String, threads: Int) {
        self.name = name
        limit = max(1, threads)
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        state = Locked(State(queue: FairQueue(threads: limit, processors: processors), mostLowered: processors))
    }

    /// The number of threads, of idle threads, and of waiting tasks.
    package var figures: (threads: Int, idle: Int, waiting: Int) {
        state.withLock { state in
            (
                state.usual.threads + state.lowered.threads, state.usual.idle.count + state.lowered.idle.count,
                state.queue.count
            )
        }
    }

    /// Whether work waits for a thread, so that long work should yield.
    package var isContended: Bool { waiting.load(ordering: .relaxed) > 0 }

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)), for: nil)
    }

    /// Runs `body` on a thread of the pool, after all earlier work of the account.
    ///
    /// - Parameter account: the account that pays for the work; nil for the pool's own account.
    package func submit(for account: PoolAccount? = nil, _ body: @escaping @Sendable () -> Void) {
        add(.body(body), for: account)
    }

    /// Runs `body` as `submit` does, and returns its result.
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

    /// Lets the threads end as soon as they have no work. Each thread retains the pool until it ends. Work may still be
    /// added.
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
            // Each woken thread takes only one of the waiting tasks.
            guard state.queue.count > state.usual.waking, state.usual.threads < limit else { return .nothing }
            // A new thread would inherit the lower priority of this one.
            guard !state.loweredThreads.contains(pthread_self()) else { return .nothing }
            state.usual.threads += 1
            return .start
        }
    }

    /// Starts a thread. If that fails and there is no other thread, this thread does the work: slowly, but otherwise
    /// the work would never be done.
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

    /// Lowers the priority of this thread and starts another one in its place.
    ///
    /// - Returns: false if there are enough threads of lower priority, or no thread can be started.
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

    /// The work that a thread has finished. Times are in nanoseconds; `computing` is the time on a processor.
    private struct Done {
        let turn: FairQueue.Turn
        let duration: Int64
        let computing: Int64
    }

    /// Result of a thread's search for work. `another` is another thread that has to be woken.
    private enum Found {
        case work(PoolWork, FairQueue.Turn, another: ParkedThread?)
        case sleep(another: ParkedThread?)
        case end
    }

    /// - Parameters:
    ///   - done: the work that the thread has just finished.
    ///   - rank: priority of the thread.
    ///   - time: the present time; updated after a wait.
    ///   - here: the place where the thread sleeps; nil if it must not sleep.
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
            // When one task ends, two others may be allowed to begin.
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
        // Threads of the other priority may be able to take work that this thread may not take: an account can begin or
        // stop giving way while its work waits.
        return .sleep(another: state.takeSleeper(at: time))
    }
}
