import Glibc
import Synchronization
import TransferSystem

/// A bounded number of threads for work that can block: disk, name resolution, digests of large blocks. Threads start
/// when there is work for them and live until the pool is closed.
///
/// `@unchecked Sendable`: `state` is only touched with `lock` held.
package final class BlockingPool: TaskExecutor, @unchecked Sendable {
    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private struct State {
        var queue = Queue<Work>()
        var threads = 0
        var idle = 0
        var isClosed = false
    }

    private let name: String
    private let limit: Int
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let hasWork: UnsafeMutablePointer<pthread_cond_t>
    /// Counts what was run. It tells Thread Sanitizer what the runtime doesn't when a continuation is resumed before its
    /// task waits: that all of `body` happened before what follows it.
    private let finished = Atomic(0)
    // Unchecked, because waiting on the condition gives the lock up in the middle of a function, which the runtime's check
    // of exclusive access does not understand: under -O it ends the process.
    @exclusivity(unchecked) private var state = State()

    /// - Parameter threads: how many at most; at least 1.
    package init(name: String, threads: Int) {
        self.name = name
        limit = max(1, threads)
        lock = .allocate(capacity: 1)
        hasWork = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(hasWork, nil)
    }

    deinit {
        pthread_cond_destroy(hasWork)
        pthread_mutex_destroy(lock)
        hasWork.deallocate()
        lock.deallocate()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Runs `body` on a thread of the pool, after all that was queued before.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        add(.body(body))
    }

    /// Runs `body` on a thread of the pool and returns what it returns.
    package func run<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        let result = await withCheckedContinuation { continuation in
            submit {
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
        pthread_mutex_lock(lock)
        state.isClosed = true
        pthread_mutex_unlock(lock)
        pthread_cond_broadcast(hasWork)
    }

    private func add(_ work: Work) {
        pthread_mutex_lock(lock)
        state.queue.append(work)
        // A thread counts as idle until it has woken, so each of them can take only one of those that wait.
        let mustStart = state.queue.count > state.idle && state.threads < limit
        if mustStart { state.threads += 1 }
        pthread_mutex_unlock(lock)
        guard mustStart else {
            pthread_cond_signal(hasWork)
            return
        }
        startWorker()
    }

    /// Without a single thread nothing queued would ever run, so the work is then done right here: slow, but done.
    private func startWorker() {
        do throws(SystemError) {
            try startThread(name: name) { [self] in work() }
        } catch {
            pthread_mutex_lock(lock)
            state.threads -= 1
            let isAlone = state.threads == 0
            pthread_mutex_unlock(lock)
            if isAlone { while let work = next(waiting: false) { perform(work) } }
        }
    }

    private func work() {
        while let work = next(waiting: true) { perform(work) }
    }

    private func perform(_ work: Work) {
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
        case .body(let body): body()
        }
    }

    private func next(waiting: Bool) -> Work? {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let work = state.queue.popFirst() { return work }
            guard waiting, !state.isClosed else {
                if waiting { state.threads -= 1 }
                return nil
            }
            state.idle += 1
            pthread_cond_wait(hasWork, lock)
            state.idle -= 1
        }
    }
}
