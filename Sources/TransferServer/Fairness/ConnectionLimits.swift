import TransferSystem

/// Who may be connected: decides of each newcomer by counts alone. Sans-IO.
///
/// A connection is *pending* until its handshake is done. Pending ones cost an attacker nothing but a socket, so they give
/// way to newcomers: the longest pending one of the network that has most of them. A network that opens thousands
/// therefore only loses its own.
///
/// The last eighth of all places is for networks that have none. When these are used up as well, the network that has most
/// loses its oldest connection to a network that has none.
struct ConnectionLimits {
    /// How many there may be of everything, each at least 1.
    struct Limits: Equatable, Sendable {
        /// Connections at once.
        var connections: Int
        /// Of these, from one network.
        var perNetwork: Int
        /// Connections whose handshake is not done.
        var pending: Int
        /// Connections that are being told why they are turned away; the others are only closed.
        var refusals = 64
    }

    /// Why a newcomer, or a connection that was there, has no place.
    enum Shortage: String, CaseIterable, Sendable {
        /// Its network has as many as one may have.
        case perNetwork = "per_address"
        /// Too many connections are pending, and it has been so for longest.
        case pending = "handshakes"
        /// The places that are left are for networks that have none.
        case places
    }

    /// What becomes of a newcomer.
    enum Verdict: Equatable {
        /// It may come in, as soon as there is a place.
        case admitted(evicting: Victim?)
        /// It may not. `refused` has to be called when it was told.
        case refused(Shortage, isTold: Bool)
    }

    /// A connection that has to end for a newcomer.
    struct Victim: Equatable {
        let number: Int
        let shortage: Shortage
    }

    private var limits: Limits
    /// Every connection that holds a place, with its network.
    private var networks: [Int: PeerNetwork?] = [:]
    private var counts: [PeerNetwork: Int] = [:]
    /// In the order in which they came.
    private var pending: [PeerNetwork?: [Int]] = [:]
    private var pendingCount = 0
    private var refusals = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Connections that hold a place.
    var count: Int { networks.count }

    /// Lets so many come from one network from now on; nobody who is there has to go.
    mutating func change(perNetwork limit: Int) {
        limits.perNetwork = limit
    }

    /// Somebody has come.
    ///
    /// - Parameters:
    ///   - number: of the connection; they grow.
    ///   - network: where it comes from; nothing for one that is not held against anybody.
    mutating func arrive(_ number: Int, from network: PeerNetwork?) -> Verdict {
        if let shortage = shortage(for: network) {
            guard refusals < limits.refusals else { return .refused(shortage, isTold: false) }
            refusals += 1
            return .refused(shortage, isTold: true)
        }
        let victim = victim(for: network)
        if let victim { leave(victim.number) }
        networks[number] = network
        if let network { counts[network, default: 0] += 1 }
        return .admitted(evicting: victim)
    }

    private func shortage(for network: PeerNetwork?) -> Shortage? {
        guard let network, let own = counts[network] else { return nil }
        if own >= limits.perNetwork { return .perNetwork }
        return count >= limits.connections - limits.connections / Self.keptPart ? .places : nil
    }

    /// One part of so many of all places is for networks that have none.
    private static let keptPart = 8

    private func victim(for network: PeerNetwork?) -> Victim? {
        let isFull = count >= limits.connections
        if isFull || pendingCount >= limits.pending, let number = longestPending {
            return Victim(number: number, shortage: .pending)
        }
        guard isFull, network != nil, let crowd = counts.max(by: { $0.value < $1.value }), crowd.value > 1 else {
            return nil
        }
        return networks.lazy.filter { $0.value == crowd.key }.map(\.key).min().map {
            Victim(number: $0, shortage: .places)
        }
    }

    /// Its handshake can begin.
    mutating func begin(_ number: Int) {
        guard let network = networks[number] else { return }
        pending[network, default: []].append(number)
        pendingCount += 1
    }

    /// Its handshake is done.
    mutating func establish(_ number: Int) {
        guard let network = networks[number], let index = pending[network]?.firstIndex(of: number) else { return }
        pending[network]?.remove(at: index)
        if pending[network]?.isEmpty ?? false { pending[network] = nil }
        pendingCount -= 1
    }

    /// It is over, or has to be.
    ///
    /// - Returns: whether it held a place.
    @discardableResult
    mutating func leave(_ number: Int) -> Bool {
        establish(number)
        guard let network = networks.removeValue(forKey: number) else { return false }
        if let network, let count = counts[network] { counts[network] = count > 1 ? count - 1 : nil }
        return true
    }

    /// One that was turned away has been told.
    mutating func refused() {
        refusals -= 1
    }

    /// Of the network that has most of them.
    private var longestPending: Int? {
        let crowd = pending.max { ($0.value.count, -($0.value.first ?? 0)) < ($1.value.count, -($1.value.first ?? 0)) }
        return crowd?.value.first
    }
}
