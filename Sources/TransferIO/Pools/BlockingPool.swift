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
        var idle = 0
        var isClosed = false
    }

    private let name: String
    private let limit: Int
    private let monitor: Monitor<State>
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
        monitor = Monitor(State(queue: FairQueue(threads: limit)))
    }

    /// How many threads there are, how many of them have nothing to do, and how much work waits for one.
    package var figures: (threads: Int, idle: Int, waiting: Int) {
        monitor.withLock { (monitor.state.threads, monitor.state.idle, monitor.state.queue.count) }
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
        monitor.withLock { monitor.state.isClosed = true }
        monitor.wakeAll()
    }

    private func add(_ work: PoolWork, for account: PoolAccount?) {
        if mustStart(for: work, of: account ?? own) { startWorker() } else { monitor.wakeOne() }
    }

    private func mustStart(for work: PoolWork, of account: PoolAccount) -> Bool {
        monitor.withLock {
            monitor.state.queue.append(work, for: account)
            waiting.store(monitor.state.queue.count, ordering: .relaxed)
            // A thread counts as idle until it has woken, so each of them can take only one of those that wait.
            guard monitor.state.queue.count > monitor.state.idle, monitor.state.threads < limit else { return false }
            monitor.state.threads += 1
            return true
        }
    }

    /// Without a single thread nothing queued would ever run, so the work is then done right here: slow, but done.
    private func startWorker() {
        do throws(SystemError) {
            try startThread(name: name) { [self] in work() }
        } catch {
            let isAlone = monitor.withLock {
                monitor.state.threads -= 1
                return monitor.state.threads == 0
            }
            if isAlone { work(waiting: false) }
        }
    }

    private func work(waiting: Bool = true) {
        var done: (turn: FairQueue.Turn, duration: Int64)?
        var time = monotonicNanoseconds()
        while let (work, turn) = next(after: done, at: &time, waiting: waiting) {
            perform(work)
            let end = monotonicNanoseconds()
            done = (turn, end - time)
            time = end
        }
    }

    private func perform(_ work: PoolWork) {
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
        case .body(let body): body()
        }
    }

    /// - Parameters:
    ///   - done: what the thread did before.
    ///   - time: of now; of when it goes on, where it had to wait.
    private func next(
        after done: (turn: FairQueue.Turn, duration: Int64)?, at time: inout Int64, waiting: Bool
    ) -> (work: PoolWork, turn: FairQueue.Turn)? {
        monitor.lock()
        defer { monitor.unlock() }
        if let done { monitor.state.queue.finished(done.turn, after: done.duration) }
        while true {
            if let next = monitor.state.queue.next(at: time) {
                self.waiting.store(monitor.state.queue.count, ordering: .relaxed)
                // The end of one work can let two others begin.
                if monitor.state.idle > 0, monitor.state.queue.hasNext(at: time) { monitor.wakeOne() }
                return next
            }
            guard waiting, !monitor.state.isClosed else {
                if waiting { monitor.state.threads -= 1 }
                return nil
            }
            monitor.state.idle += 1
            monitor.wait()
            monitor.state.idle -= 1
            time = monotonicNanoseconds()
        }
    }
}
