/// Lets one task wait until something has happened, or has something called then. Belongs to whoever is isolated to its
/// loop; a signal fired while nobody waits is remembered, several such count as one.
package final class Signal {
    private var waiter: CheckedContinuation<Void, Never>?
    private var isFired = false
    /// Called in the place of waking somebody.
    private var handler: (() -> Void)?

    package init() {}

    /// Suspends until the signal is fired.
    package func wait() async {
        if takeFired() { return }
        await withCheckedContinuation { continuation in
            // The way in can be a suspension: the runtime queues a task again that is on its actor but doesn't prefer the
            // loop. What was fired meanwhile would be stored beside the waiter, and nobody woken.
            guard !takeFired() else { return continuation.resume() }
            // Trap: each signal has one task of ours that waits for it.
            precondition(waiter == nil, "two tasks wait for one signal")
            waiter = continuation
        }
    }

    private func takeFired() -> Bool {
        defer { isFired = false }
        return isFired
    }

    /// Has something called each time that the signal is fired, by whoever fires it and before that returns; at once where
    /// it was fired already. A task that waits takes memory for as long as it does.
    ///
    /// - Parameter handler: nothing to have tasks wait again.
    package func call(_ handler: (() -> Void)?) {
        self.handler = handler
        if let handler, takeFired() { handler() }
    }

    /// Wakes the waiter, or the next one to come.
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
