import TransferIntake
import TransferSystem

/// Time in a simulation. The clock advances with every look, so that no two moments are the same, and it shows the same
/// times in every run of a seed.
final class VirtualClock: Sendable {
    /// Nanoseconds since 1970.
    private let now = Locked<Int64>(1_700_000_000_000_000_000)

    func wait(_ nanoseconds: Int64) { now.withLock { $0 += nanoseconds } }

    /// - Returns: nanoseconds since 1970.
    func stamp() -> Int64 {
        now.withLock {
            $0 += 1000
            return $0
        }
    }

    var clock: IntakeClock { IntakeClock(monotonic: { [self] in stamp() }, utc: { [self] in stamp() }) }
}
