/// Lets one task wait for an event, or calls a handler then. Used only on one loop. A signal that fires while no task
/// waits is remembered; several count as one.
package final class Signal {
    private var waiter: CheckedContinuation<Void, Never>?
    private var isFired = false
    /// Called instead of resuming a task.
    private var handler: (() -> Void)?

    package init() {}

    /// Suspends until the signal is fired.
    package func wait() async {
        if takeFired() { return }
        await withCheckedContinuation { continuation in
            // Entering this closure can suspend: the runtime queues a task again if it is on its actor but does not
            // prefer the loop. If the signal fired meanwhile, waiting would miss it.
            guard !takeFired() else { return continuation.resume() }
            // Trap: each signal has only one task of this program that waits for it.
            precondition(waiter == nil, "two tasks wait for one signal")
            waiter = continuation
        }
    }

    private func takeFired() -> Bool {
        defer { isFired = false }
        return isFired
    }

    /// Calls a handler each time that the signal fires, inside `fire`; at once if it has fired already. Unlike a task,
    /// a handler takes no memory while it waits.
    ///
    /// - Parameter handler: nil to let tasks wait again.
    package func call(_ handler: (() -> Void)?) {
        self.handler = handler
        if let handler, takeFired() { handler() }
    }

    /// Calls the handler, or wakes the task that waits now or next.
    package func fire() {
        if let handler { return handler() }
        guard let waiting = waiter else {
            isFired = true
            return
        }
        waiter = nil
        waiting.resume()
    }
}
