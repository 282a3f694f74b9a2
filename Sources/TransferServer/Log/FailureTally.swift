import TransferModel

/// The failures of one connection: the first of each kind is worth a line, thousands more are worth a number.
struct FailureTally {
    private var counts: [ResultCode: Int] = [:]
    private var total = 0

    /// Failures after which what a client merely begins is not worth a line either.
    private static let many = 16

    /// - Returns: how often there was this one, now included.
    mutating func add(_ code: ResultCode) -> Int {
        total += 1
        counts[code, default: 0] += 1
        return counts[code] ?? 1
    }

    /// Whether there were so many that the connection has had its share of the log.
    var isLong: Bool { total > Self.many }

    /// What came more than once, without the first of each; nothing where nothing did.
    var repeated: [(code: ResultCode, count: Int)]? {
        let repeated = counts.filter { $0.value > 1 }.sorted { $0.key.rawValue < $1.key.rawValue }
        return repeated.isEmpty ? nil : repeated.map { ($0.key, $0.value - 1) }
    }
}
