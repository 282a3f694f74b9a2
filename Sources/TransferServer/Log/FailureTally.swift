import TransferModel

/// Counts the failures of one connection: the first of each kind is logged in a separate line, further ones as a
/// number.
struct FailureTally {
    private var counts: [ResultCode: Int] = [:]
    private var total = 0

    /// Number of failures after which the beginnings of the connection's uploads are only logged at the level `debug`.
    private static let many = 16

    /// - Returns: how often this failure has occurred, including now.
    mutating func add(_ code: ResultCode) -> Int {
        total += 1
        counts[code, default: 0] += 1
        return counts[code] ?? 1
    }

    /// Whether the connection has filled its share of the log.
    var isLong: Bool { total > Self.many }

    /// Failures that occurred more than once, without the first of each; nil if none did.
    var repeated: [(code: ResultCode, count: Int)]? {
        let repeated = counts.filter { $0.value > 1 }.sorted { $0.key.rawValue < $1.key.rawValue }
        return repeated.isEmpty ? nil : repeated.map { ($0.key, $0.value - 1) }
    }
}
