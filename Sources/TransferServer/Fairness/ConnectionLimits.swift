import TransferSystem

/// Who may be connected: decides of each newcomer by counts alone. Sans-IO.
///
/// A connection is *pending* until its handshake is done. Pending ones cost an attacker nothing but a socket, so they give
/// way to newcomers: the longest pending one of the network that has most of them. A network that opens thousands
/// therefore only loses its own.
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

    /// What becomes of a newcomer.
    enum Verdict: Equatable {
        /// It may come in, as soon as there is a place. The number is that of a connection that has to end for it.
        case admitted(evicting: Int?)
        /// It may not. `refused` has to be called when it was told.
        case refused(isTold: Bool)
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
        if let network, counts[network, default: 0] >= limits.perNetwork {
            guard refusals < limits.refusals else { return .refused(isTold: false) }
            refusals += 1
            return .refused(isTold: true)
        }
        let victim = pendingCount >= limits.pending || count >= limits.connections ? longestPending : nil
        if let victim { leave(victim) }
        networks[number] = network
        if let network { counts[network, default: 0] += 1 }
        return .admitted(evicting: victim)
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
