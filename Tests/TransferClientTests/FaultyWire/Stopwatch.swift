import TransferIO
import TransferSystem

/// Counts ticks of an event loop's timer. If the machine is suspended for a while, that counts as one tick.
actor Stopwatch {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    /// Nanoseconds between two ticks.
    private static let interval: Int64 = 100_000_000

    private let loop: EventLoop
    private let ended = Signal()
    private var isStopped = false

    init(loop: EventLoop) {
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Returns after this many ticks, or when the task is cancelled.
    func wait(ticks: Int) async {
        tick(ticks)
        await withTaskCancellationHandler {
            await ended.wait()
        } onCancel: {
            Task(executorPreference: loop) { await self.stop() }
        }
    }

    private func stop() {
        isStopped = true
        ended.fire()
    }

    private func tick(_ left: Int) {
        guard left > 0 else { return stop() }
        guard !isStopped else { return }
        _ = loop.schedule(at: monotonicDeadline(after: Self.interval)) { [weak self] in
            self?.assumeIsolated { $0.tick(left - 1) }
        }
    }
}
