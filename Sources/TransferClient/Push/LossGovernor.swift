import TransferIO
import TransferModel

/// Decides how many lanes a push may have over a distant line where TCP interprets each loss as a full queue (Reno,
/// CUBIC). A loss without a queue slows a connection down without need, so only many connections fill a line that loses
/// packets.
///
/// If packets are lost without a queue, the governor allows four times as many lanes, and goes back to the former
/// number if the rate does not rise. A queue means that the line is full, and that more lanes would only take from
/// other users.
struct LossGovernor {
    /// The time between two observations of the lanes.
    static let interval = Interval.milliseconds(100)

    /// The number of lanes at first. Two leave a third of a full line to one connection of another user.
    static let fewest = 2

    /// The most lanes. 32 lanes with Reno carry 80 Mbit/s over 80 ms with half a per cent of loss (RFC 3649, section
    /// 3).
    static let most = 32

    /// The factor by which a step multiplies the lanes. Smaller steps take longer in all, and each is compared with
    /// lanes that have only just begun, which carry more than they do later.
    private static let step = 4

    /// The factor by which a step must raise the rate to be kept.
    private static let leastGain = 1.15

    /// A length of time: a number of round trips, but at least a number of seconds.
    private struct Span {
        let roundTrips: Double
        let least: Double
    }

    /// The time that new lanes have to raise the rate. They need two or three round trips to connect, and five until
    /// most of them have lost a packet for the first time.
    private static let trial = Span(roundTrips: 16, least: 1)

    /// The time over which bytes are counted.
    private static let window = Span(roundTrips: 3, least: 0.5)

    /// The time for which losses are attributed to a queue that was seen, because TCP notices and repairs losses later
    /// than they happen.
    private static let blame = Span(roundTrips: 4, least: 0.75)

    /// The pause after the first useless step; it doubles after each further one, up to `longestRest`. Lanes that have
    /// just begun carry more than they do later, so the rate before a step may have been measured too high, and the
    /// line may have changed.
    private static let firstRest = trial
    private static let longestRest = 30.0

    private enum Phase {
        case watching
        /// More lanes are being tried since a time. `before` is the rate before this step, and `fewer` the number of
        /// lanes.
        case trying(since: MonotonicTime, before: Double, fewer: Int)
        case resting(since: MonotonicTime)
    }

    /// The latest measurements and their time.
    private struct Look {
        let time: MonotonicTime
        let links: [Int: LinkReading]
    }

    /// The number of lanes that the push may have now, including the first.
    private(set) var lanes: Int

    private let most: Int
    private var phase = Phase.watching
    private var last: Look?
    /// For each interval, the oldest first: the bytes that arrived, the end of the interval, and its length in seconds.
    private var arrivals: [(bytes: Double, until: MonotonicTime, seconds: Double)] = []
    /// The shortest round trip of all lanes, in seconds.
    private var leastRoundTrip = Double.infinity
    private var queueSeen: MonotonicTime?
    private var hasLost = false
    /// The number of useless steps since the last useful one.
    private var failures = 0

    /// - Parameter most: the most lanes, at least one.
    init(most: Int = Self.most) {
        self.most = min(max(1, most), Self.most)
        lanes = min(self.most, Self.fewest)
    }

    /// Takes TCP's measurements of each lane, by the lane's number. An observation within a round trip of the last one
    /// is skipped, because it would see no more than half of the bytes that move.
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

    /// - Parameter active: the number of lanes over which bytes have arrived.
    private mutating func judge(active: Int, now: MonotonicTime) {
        // Lanes that are still connecting, or have no work, say nothing about the line.
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

    /// The length of the present pause, in seconds.
    private var rest: Double {
        let doublings = Double(1 << max(0, failures - 1))
        return min(length(of: Self.firstRest) * doublings, max(Self.longestRest, length(of: Self.firstRest)))
    }

    private mutating func tryMore(_ now: MonotonicTime) {
        hasLost = false
        phase = .trying(since: now, before: rate, fewer: lanes)
        lanes = min(Self.step * lanes, most)
    }

    /// The rate of all lanes, in bytes a second.
    private var rate: Double {
        let seconds = arrivals.reduce(0) { $0 + $1.seconds }
        return seconds > 0 ? arrivals.reduce(0) { $0 + $1.bytes } / seconds : 0
    }

    /// Looks for a queue, which delays all lanes. A delay of only some lanes has another cause.
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
