import Synchronization
import TransferSystem

/// A bounded number of threads for work that can block: disk, name resolution, digests of large blocks. Threads start
/// when there is work for them and live until the pool is closed.
package final class BlockingPool: TaskExecutor {
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
    private let monitor = Monitor(State())
    /// Counts what was run. It tells Thread Sanitizer what the runtime doesn't when a continuation is resumed before its
    /// task waits: that all of `body` happened before what follows it.
    private let finished = Atomic(0)

    /// - Parameter threads: how many at most; at least 1.
    package init(name: String, threads: Int) {
        self.name = name
        limit = max(1, threads)
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
        monitor.withLock { monitor.state.isClosed = true }
        monitor.wakeAll()
    }

    private func add(_ work: Work) {
        if mustStart(for: work) { startWorker() } else { monitor.wakeOne() }
    }

    private func mustStart(for work: Work) -> Bool {
        monitor.withLock {
            monitor.state.queue.append(work)
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
        monitor.withLock {
            while true {
                if let work = monitor.state.queue.popFirst() { return work }
                guard waiting, !monitor.state.isClosed else {
                    if waiting { monitor.state.threads -= 1 }
                    return nil
                }
                monitor.state.idle += 1
                monitor.wait()
                monitor.state.idle -= 1
            }
        }
    }
}
