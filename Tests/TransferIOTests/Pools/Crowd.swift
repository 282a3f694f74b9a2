import TransferSystem

/// Counts the callers between `enter` and `leave`.
final class Crowd: Sendable {
    private let counts = Locked((now: 0, most: 0, all: 0))

    /// The most callers at the same time.
    var most: Int { counts.withLock { $0.most } }

    /// The number of all callers so far.
    var all: Int { counts.withLock { $0.all } }

    func enter() {
        counts.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
            $0.all += 1
        }
    }

    func leave() {
        counts.withLock { $0.now -= 1 }
    }
}
