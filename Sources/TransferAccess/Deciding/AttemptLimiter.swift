package import TransferModel
package import TransferSystem

/// Slows down whoever tries to get in and fails. It never asks for the time.
///
/// Some failures in a row are answered late and nothing else: people mistype. Then an address is not listened to for a
/// second, and for twice as long after each further failure. A secret that is right forgets them all. Only wrong secrets
/// are counted, and only secrets are held up: nobody can lock out a client whose key is admitted, or whose token was found
/// right before, from behind the same address.
package struct AttemptLimiter: Sendable {
    /// Every refusal is sent so long after the attempt, whatever was wrong: the time tells nothing, and a connection
    /// can try once a second at most.
    package static let delay = Interval.seconds(1)

    /// Failures in a row that have no other consequence.
    private static let freeFailures = 5

    private static let firstPause = Interval.seconds(1)

    /// The longest pause, and how long failures are remembered beyond it: a device with a revoked token that tries for
    /// ever costs one attempt in five minutes.
    private static let longestPause = Interval.seconds(300)

    /// Addresses that are remembered: below a megabyte of memory. Whoever has more than this can also do without trying
    /// twice from one of them.
    private static let mostAddresses = 4096

    private struct Record: Sendable {
        var failures: Int
        var last: MonotonicTime
        var closedUntil: MonotonicTime
    }

    private var records: [PeerNetwork?: Record] = [:]

    package init() {}

    /// How many addresses it remembers.
    var count: Int { records.count }

    /// How long an attempt from there is not listened to; nothing when it may try.
    package func pause(for network: PeerNetwork?, at now: MonotonicTime) -> Interval? {
        guard let record = records[network], now < record.closedUntil else { return nil }
        return record.closedUntil - now
    }

    /// An attempt failed.
    package mutating func fail(_ network: PeerNetwork?, at now: MonotonicTime) {
        if records[network] == nil, records.count >= Self.mostAddresses { makeRoom(at: now) }
        let earlier = records[network].flatMap { isForgotten($0, at: now) ? nil : $0.failures } ?? 0
        let failures = earlier + 1
        let pause = Self.pause(after: failures)
        records[network] = Record(failures: failures, last: now, closedUntil: now + pause)
    }

    /// Somebody from there got in with a secret.
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

    /// Forgets what is old, and if that is not enough the half that failed longest ago, so that it is done rarely.
    private mutating func makeRoom(at now: MonotonicTime) {
        records = records.filter { !isForgotten($0.value, at: now) }
        guard records.count >= Self.mostAddresses else { return }
        let middle = records.values.map(\.last).sorted()[records.count / 2]
        records = records.filter { $0.value.last > middle }
    }
}
