import Glibc
import TransferSystem

/// Waits until something is so that another thread brings about.
///
/// - Returns: false when it took too long.
func waits(until isSo: () -> Bool) -> Bool {
    let deadline = monotonicDeadline(after: 180_000_000_000)
    while !isSo() {
        guard monotonicNanoseconds() < deadline else { return false }
        sched_yield()
    }
    return true
}
