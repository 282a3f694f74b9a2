import TransferModel
import TransferSystem

/// How much a server says to whoever sends it datagrams, which costs nothing and can come in any name: so much to each
/// network, and so much to all. Sans-IO.
struct DiscoveryLimiter {
    /// What may come at once, and in each second in the long run, in units: see `cost`.
    struct Rate: Sendable {
        let burst: Int64
        let perSecond: Int64

        /// How long a unit takes to be free again.
        fileprivate var price: Int64 { 1_000_000_000 / perSecond }
    }

    /// Somebody who looks for servers sends a handful of probes. The longest datagram of all costs as much at once.
    static let perNetwork = Rate(burst: 64, perSecond: 20)

    /// Half a megabyte a second at most, whatever comes.
    static let overall = Rate(burst: 512, perSecond: 500)

    /// Networks that are remembered. There are never so many: whoever is remembered has had a unit that is not free again,
    /// and of these there are some 2,100.
    static let mostNetworks = 4096

    /// Bytes that a unit pays for.
    private static let unit = 1024

    /// The moments at which all is free again.
    private var whole: MonotonicTime
    private var networks: [PeerNetwork?: MonotonicTime] = [:]

    init(at now: MonotonicTime) {
        whole = now
    }

    /// Networks that it remembers.
    var count: Int { networks.count }

    /// Units that an answer of so many bytes costs: one, and one for every whole KiB.
    static func cost(of bytes: Int) -> Int64 { Int64(1 + bytes / unit) }

    /// Whether so much may be said there now; if so, it counts.
    ///
    /// - Parameter network: nothing for this machine.
    mutating func admits(_ network: PeerNetwork?, bytes: Int, at now: MonotonicTime) -> Bool {
        let cost = Self.cost(of: bytes)
        guard let all = Self.moment(after: whole, cost, Self.overall, at: now) else { return false }
        if networks[network] == nil, networks.count >= Self.mostNetworks {
            networks = networks.filter { $0.value > now }
            guard networks.count < Self.mostNetworks else { return false }
        }
        guard let own = Self.moment(after: networks[network] ?? now, cost, Self.perNetwork, at: now) else {
            return false
        }
        whole = all
        networks[network] = own
        return true
    }

    /// - Returns: nothing when that would be too much.
    private static func moment(
        after full: MonotonicTime, _ cost: Int64, _ rate: Rate, at now: MonotonicTime
    ) -> MonotonicTime? {
        let after = max(full, now) + Interval(nanoseconds: cost * rate.price)
        return after <= now + Interval(nanoseconds: rate.burst * rate.price) ? after : nil
    }
}
