import Glibc
import TransferSystem

/// Waits until another thread has made a condition true.
///
/// - Returns: false if that took too long.
func waits(until isSo: () -> Bool) -> Bool {
    let deadline = monotonicDeadline(after: 180_000_000_000)
    while !isSo() {
        guard monotonicNanoseconds() < deadline else { return false }
        sched_yield()
    }
    return true
}
