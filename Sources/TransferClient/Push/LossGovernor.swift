import TransferIO
import TransferModel

/// How many lanes a push may have over a far line where TCP takes each loss for a queue that is full (Reno, CUBIC). A loss that no
/// queue has caused holds a connection down for nothing, so a line that loses packets on its way is only filled by many.
///
/// It makes the lanes four times as many where something is lost and no queue was seen, and takes that back where they brought nothing. Where a queue is
/// seen the line is full, and more lanes would only take from others.
struct LossGovernor {
    /// Between two looks at the lanes.
    static let interval = Interval.milliseconds(100)

    /// Lanes before anything is known. Of a full line two leave a third to one connection of somebody else.
    static let fewest = 2

    /// Lanes at most. 32 of Reno carry 80 Mbit/s over 80 ms with half a per cent of loss (RFC 3649, section 3).
    static let most = 32

    /// How many times as many lanes are tried. Smaller steps last longer in all, and each is measured against lanes that have only just
    /// begun, which carry more than they do later.
    private static let step = 4

    /// How many times as much more lanes have to carry.
    private static let leastGain = 1.15

    /// How long a time is: in round trips, and in seconds at least.
    private struct Span {
        let roundTrips: Double
        let least: Double
    }

    /// For new lanes to show what they can do: two or three round trips to connect, and five until most have lost something for the first
    /// time.
    private static let trial = Span(roundTrips: 16, least: 1)

    /// Over which bytes are counted.
    private static let window = Span(roundTrips: 3, least: 0.5)

    /// In which a loss is laid at the door of a queue that was seen: it has to be noticed and sent again first.
    private static let blame = Span(roundTrips: 4, least: 0.75)

    /// After the first step that brought nothing; twice as long after each one more, up to `longestRest`. Lanes that have just begun
    /// carry more than they do later, so what was measured in front of a step may have been too much to be reached again. And the line
    /// may have become another one.
    private static let firstRest = trial
    private static let longestRest = 30.0

    private enum Phase {
        case watching
        /// More lanes are tried than before, when they carried so many bytes a second.
        case trying(since: MonotonicTime, before: Double, fewer: Int)
        case resting(since: MonotonicTime)
    }

    /// What was read last, and since when.
    private struct Look {
        let time: MonotonicTime
        let links: [Int: LinkReading]
    }

    /// What the push may have now, the first lane included.
    private(set) var lanes: Int

    private let most: Int
    private var phase = Phase.watching
    private var last: Look?
    /// Bytes that arrived, until when, and in how many seconds; the oldest first.
    private var arrivals: [(bytes: Double, until: MonotonicTime, seconds: Double)] = []
    /// In seconds, of all lanes.
    private var leastRoundTrip = Double.infinity
    private var queueSeen: MonotonicTime?
    private var hasLost = false
    /// Steps that brought nothing, since one did.
    private var failures = 0

    /// - Parameter most: lanes, at least one.
    init(most: Int = Self.most) {
        self.most = min(max(1, most), Self.most)
        lanes = min(self.most, Self.fewest)
    }

    /// Takes what TCP says of each lane, by its number. A look that comes within a round trip of the one before is left out: it would see
    /// no more than half of what moves.
    mutating func look(at links: [Int: LinkReading], now: MonotonicTime) {
        for link in links.values where link.leastRoundTrip > 0 {
            leastRoundTrip = min(leastRoundTrip, Double(link.leastRoundTrip) / 1e9)
        }
        let seconds = last.map { (now - $0.time).seconds } ?? .infinity
        guard seconds > 0, seconds >= leastRoundTrip else { return }
        let before = last?.links ?? [:]
        let arrived = links.mapValues { Double($0.acknowledged) }
            .merging(before.mapValues { -Double($0.acknowledged) }, uniquingKeysWith: +).filter { $0.value > 0 }
        lookForQueue(arrived.keys.compactMap { links[$0]?.roundTrip }, now: now)
        defer { last = Look(time: now, links: links) }
        guard last != nil else { return }
        arrivals.append((arrived.values.reduce(0, +), now, seconds))
        let window = length(of: Self.window)
        arrivals.removeAll { (now - $0.until).seconds >= window }
        if !isBlamed(now), links.contains(where: { $0.value.sentAgain > before[$0.key]?.sentAgain ?? 0 }) {
            hasLost = true
        }
        judge(active: arrived.count, now: now)
    }

    /// - Parameter active: lanes that something has arrived over.
    private mutating func judge(active: Int, now: MonotonicTime) {
        // Lanes that are not there yet, or have nothing to do, say nothing of the line.
        let isComplete = 4 * active >= 3 * lanes
        switch phase {
        case .watching:
            if hasLost, isComplete, lanes < most { tryMore(now) }
        case .trying(let since, let before, let fewer):
            guard isComplete else {
                phase = .trying(since: now, before: before, fewer: fewer)
                return
            }
            let seconds = (now - since).seconds
            if seconds >= length(of: Self.window), rate >= Self.leastGain * before {
                phase = .watching
                failures = 0
                if hasLost, lanes < most { tryMore(now) }
            } else if seconds >= length(of: Self.trial) {
                lanes = fewer
                failures = min(failures + 1, 16)
                phase = .resting(since: now)
            }
        case .resting(let since):
            hasLost = false
            if (now - since).seconds >= rest { phase = .watching }
        }
    }

    /// In seconds.
    private var rest: Double {
        let doublings = Double(1 << max(0, failures - 1))
        return min(length(of: Self.firstRest) * doublings, max(Self.longestRest, length(of: Self.firstRest)))
    }

    private mutating func tryMore(_ now: MonotonicTime) {
        hasLost = false
        phase = .trying(since: now, before: rate, fewer: lanes)
        lanes = min(Self.step * lanes, most)
    }

    /// Bytes a second.
    private var rate: Double {
        let seconds = arrivals.reduce(0) { $0 + $1.seconds }
        return seconds > 0 ? arrivals.reduce(0) { $0 + $1.bytes } / seconds : 0
    }

    /// A queue delays all lanes. What only some of them wait for is none.
    private mutating func lookForQueue(_ roundTrips: [Int64], now: MonotonicTime) {
        guard !roundTrips.isEmpty else { return }
        let median = Double(roundTrips.sorted()[roundTrips.count / 2]) / 1e9
        if median - leastRoundTrip > leastRoundTrip / 4 + 0.01 { queueSeen = now }
    }

    private func isBlamed(_ now: MonotonicTime) -> Bool {
        queueSeen.map { (now - $0).seconds < length(of: Self.blame) } ?? false
    }

    private func length(of span: Span) -> Double {
        max(span.least, leastRoundTrip.isFinite ? span.roundTrips * leastRoundTrip : 0)
    }
}
