import TransferSystem

/// Counts those who are in it at the same time.
final class Crowd: Sendable {
    private let counts = Locked((now: 0, most: 0, all: 0))

    /// The most that were ever in it together.
    var most: Int { counts.withLock { $0.most } }

    /// All that ever came.
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
