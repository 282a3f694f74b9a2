import TransferModel
import TransferSystem

/// Limits what a server answers to datagrams, which cost their sender nothing and can have a forged address: for each network, and over all
/// networks. Does no I/O.
struct DiscoveryLimiter {
    /// Units that may be used at once, and in each second in the long run; see `cost`.
    struct Rate: Sendable {
        let burst: Int64
        let perSecond: Int64

        /// Nanoseconds until a unit is available again.
        fileprivate var price: Int64 { 1_000_000_000 / perSecond }
    }

    /// A client that looks for servers sends a handful of probes. The longest possible datagram uses the whole burst.
    static let perNetwork = Rate(burst: 64, perSecond: 20)

    /// Allows at most half a megabyte a second.
    static let overall = Rate(burst: 512, perSecond: 500)

    /// Most networks that are remembered. When there are as many, those whose whole burst is available again are forgotten. At most about
    /// 2,100 networks remain, because each of them has used a unit in the last 3.2 seconds.
    static let mostNetworks = 4096

    /// Bytes that a unit pays for.
    private static let unit = 1024

    /// The moment at which the overall burst is available again.
    private var whole: MonotonicTime
    private var networks: [PeerNetwork?: MonotonicTime] = [:]

    init(at now: MonotonicTime) {
        whole = now
    }

    /// Number of networks that are remembered.
    var count: Int { networks.count }

    /// Units for an answer of that many bytes: one, and one more for each whole KiB.
    static func cost(of bytes: Int) -> Int64 { Int64(1 + bytes / unit) }

    /// Whether an answer of that size may be sent now. If it may, its units are counted as used.
    ///
    /// - Parameter network: nil for this machine.
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

    /// - Returns: nil if the burst would be exceeded.
    private static func moment(
        after full: MonotonicTime, _ cost: Int64, _ rate: Rate, at now: MonotonicTime
    ) -> MonotonicTime? {
        let after = max(full, now) + Interval(nanoseconds: cost * rate.price)
        return after <= now + Interval(nanoseconds: rate.burst * rate.price) ? after : nil
    }
}
