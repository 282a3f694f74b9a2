/// Lets one task wait until something has happened. Belongs to whoever is isolated to its loop; a signal fired while
/// nobody waits is remembered, several such count as one.
package final class Signal {
    private var waiter: CheckedContinuation<Void, Never>?
    private var isFired = false

    package init() {}

    /// Suspends until the signal is fired.
    package func wait() async {
        if takeFired() { return }
        await withCheckedContinuation { continuation in
            // Looked at again, because the runtime does not promise that nothing ran since.
            if takeFired() { return continuation.resume() }
            precondition(waiter == nil, "two tasks wait for one signal")
            waiter = continuation
        }
    }

    private func takeFired() -> Bool {
        defer { isFired = false }
        return isFired
    }

    /// Wakes the waiter, or the next one to come.
    package func fire() {
        guard let waiting = waiter else {
            isFired = true
            return
        }
        waiter = nil
        waiting.resume()
    }
}
