import TransferSystem

/// Counts the faults that happened. A plan may contain faults at offsets that the connection never reaches.
final class FaultTally: Sendable {
    private let counts = Locked<[String: Int]>([:])

    func add(_ fault: WireFault) {
        counts.withLock { $0[fault.kind, default: 0] += 1 }
    }

    /// Kinds of faults that happened at least once.
    var kinds: Set<String> { counts.withLock { Set($0.keys) } }

    /// A count of each kind, for the output of a test.
    var description: String {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ") }
    }
}
