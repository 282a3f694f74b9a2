package import TransferModel
package import TransferSystem

/// Slows down clients whose secrets are wrong. It never reads the clock.
///
/// After the first failures in a row, only the answer is late, because people mistype. After more, attempts from the
/// address are refused for one second, and for twice as long after each further failure. A right secret resets the
/// count. Only wrong secrets are counted, and only clients that show a secret are refused: no client can lock out
/// another one at the same address whose key is admitted, or whose token was verified recently.
package struct AttemptLimiter: Sendable {
    /// Delay of every refusal, whatever its reason, so that the time of the answer reveals nothing, and a connection
    /// can try at most once a second.
    package static let delay = Interval.seconds(1)

    /// Failures in a row that only delay the answer.
    private static let freeFailures = 5

    private static let firstPause = Interval.seconds(1)

    /// The longest pause, and also the time after a pause for which its failures are remembered: a device that retries
    /// a revoked token for ever costs one attempt in five minutes.
    private static let longestPause = Interval.seconds(300)

    /// Most addresses that are remembered, in less than a megabyte of memory. More would not help: an attacker who has
    /// more addresses does not need to try twice from one of them.
    private static let mostAddresses = 4096

    private struct Record: Sendable {
        var failures: Int
        var last: MonotonicTime
        var closedUntil: MonotonicTime
    }

    private var records: [PeerNetwork?: Record] = [:]

    package init() {}

    /// Number of addresses that are remembered.
    var count: Int { records.count }

    /// The time for which attempts from a network are still refused; nil if attempts are allowed.
    package func pause(for network: PeerNetwork?, at now: MonotonicTime) -> Interval? {
        guard let record = records[network], now < record.closedUntil else { return nil }
        return record.closedUntil - now
    }

    /// Records an attempt with a wrong secret.
    package mutating func fail(_ network: PeerNetwork?, at now: MonotonicTime) {
        if records[network] == nil, records.count >= Self.mostAddresses { makeRoom(at: now) }
        let earlier = records[network].flatMap { isForgotten($0, at: now) ? nil : $0.failures } ?? 0
        let failures = earlier + 1
        let pause = Self.pause(after: failures)
        records[network] = Record(failures: failures, last: now, closedUntil: now + pause)
    }

    /// Records that a client from this network has sent a right secret.
    package mutating func succeed(_ network: PeerNetwork?) {
        records[network] = nil
    }

    private static func pause(after failures: Int) -> Interval {
        guard failures > freeFailures else { return Interval(nanoseconds: 0) }
        let doublings = min(failures - freeFailures - 1, 30)
        return min(Interval.seconds(firstPause.seconds * Double(1 << doublings)), longestPause)
    }

    private func isForgotten(_ record: Record, at now: MonotonicTime) -> Bool {
        record.closedUntil + Self.longestPause <= now
    }

    /// Removes expired records. If these are too few, also removes the half with the oldest failures, so that this is
    /// rarely necessary.
    private mutating func makeRoom(at now: MonotonicTime) {
        records = records.filter { !isForgotten($0.value, at: now) }
        guard records.count >= Self.mostAddresses else { return }
        let middle = records.values.map(\.last).sorted()[records.count / 2]
        records = records.filter { $0.value.last > middle }
    }
}
