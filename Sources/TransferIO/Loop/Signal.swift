/// Lets one task wait for an event, or calls a handler at the event. Used only on one loop. If a signal fires while no
/// task waits, this is remembered; firing several times counts as once.
package final class Signal {
    private var waiter: CheckedContinuation<Void, Never>?
    private var isFired = false
    /// Called when the signal fires; then no task is resumed.
    private var handler: (() -> Void)?

    package init() {}

    /// Suspends until the signal is fired.
    package func wait() async {
        if takeFired() { return }
        await withCheckedContinuation { continuation in
            // The task can be suspended before it enters this closure: the runtime queues it again if it is on its
            // actor but does not prefer the loop. The signal may have fired meanwhile.
            guard !takeFired() else { return continuation.resume() }
            // Trap: for each signal, only one task of this program waits.
            precondition(waiter == nil, "two tasks wait for one signal")
            waiter = continuation
        }
    }

    private func takeFired() -> Bool {
        defer { isFired = false }
        return isFired
    }

    /// Makes the signal call a handler, inside `fire`, each time that it fires; at once if it has fired already. Unlike
    /// a task, a handler takes no memory while it waits.
    ///
    /// - Parameter handler: nil to let tasks wait again.
    package func call(_ handler: (() -> Void)?) {
        self.handler = handler
        if let handler, takeFired() { handler() }
    }

    /// Calls the handler. If there is no handler, wakes the task that waits, or the next task that will wait.
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
