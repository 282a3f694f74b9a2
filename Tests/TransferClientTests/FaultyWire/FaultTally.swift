import TransferSystem

/// Counts the faults that came to pass: a plan may reach further than its connection.
final class FaultTally: Sendable {
    private let counts = Locked<[String: Int]>([:])

    func add(_ fault: WireFault) {
        counts.withLock { $0[fault.kind, default: 0] += 1 }
    }

    /// Kinds of faults that came to pass.
    var kinds: Set<String> { counts.withLock { Set($0.keys) } }

    /// For people.
    var description: String {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ") }
    }
}
