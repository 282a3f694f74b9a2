import TransferSystem

/// Decides whether a new connection gets a place, by counts alone. Does no I/O.
///
/// A connection is *pending* until its handshake is done. Pending connections cost an attacker only a socket, so new connections replace
/// them: the longest pending one of the network that has most of them. A network that opens thousands therefore only loses its own.
///
/// The last eighth of all places is for networks that have no connection. When these places are used up as well, the network with most
/// connections loses its oldest connection to a network that has none.
struct ConnectionLimits {
    /// The limits; each is at least 1.
    struct Limits: Equatable, Sendable {
        /// Connections at the same time.
        var connections: Int
        /// Connections from one network at the same time.
        var perNetwork: Int
        /// Connections whose handshake is not done.
        var pending: Int
        /// Connections that receive the reason why they are refused; the others are only closed.
        var refusals = 64
    }

    /// Why a new or an open connection has no place.
    enum Shortage: String, CaseIterable, Sendable {
        /// Its network has as many connections as it may have.
        case perNetwork = "per_address"
        /// Too many connections are pending, and this one has been pending for the longest time.
        case pending = "handshakes"
        /// The remaining places are for networks that have no connection.
        case places
    }

    /// The decision about a new connection.
    enum Verdict: Equatable {
        /// The connection gets a place, as soon as one is free.
        case admitted(evicting: Victim?)
        /// The connection gets no place. If `isTold` is true, the caller has to send the reason, and to call `refused` afterwards.
        case refused(Shortage, isTold: Bool)
    }

    /// A connection that has to end so that a new one gets its place.
    struct Victim: Equatable {
        let number: Int
        let shortage: Shortage
    }

    private var limits: Limits
    /// Connections that have a place, with their networks.
    private var networks: [Int: PeerNetwork?] = [:]
    private var counts: [PeerNetwork: Int] = [:]
    /// Numbers of pending connections, the oldest first.
    private var pending: [PeerNetwork?: [Int]] = [:]
    private var pendingCount = 0
    private var refusals = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Number of connections that have a place.
    var count: Int { networks.count }

    /// Changes the limit for one network; open connections stay.
    mutating func change(perNetwork limit: Int) {
        limits.perNetwork = limit
    }

    /// Decides about a new connection.
    ///
    /// - Parameters:
    ///   - number: its number; later connections have greater numbers.
    ///   - network: its network; nil if it is counted for none.
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

    /// One part in this many of all places is for networks that have no connection.
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

    /// Counts a connection for the network of the client that a balancer has stated only now.
    ///
    /// - Returns: why the connection must end, and keeps its place until then; nil if it may stay.
    mutating func identify(_ number: Int, as network: PeerNetwork?) -> Shortage? {
        guard let network, networks[number] == .some(nil) else { return nil }
        if let shortage = shortage(for: network) { return shortage }
        networks[number] = network
        counts[network, default: 0] += 1
        guard let index = pending[nil]?.firstIndex(of: number) else { return nil }
        pending[nil]?.remove(at: index)
        if pending[nil]?.isEmpty ?? false { pending[nil] = nil }
        let place = pending[network]?.firstIndex { $0 > number } ?? pending[network]?.endIndex ?? 0
        pending[network, default: []].insert(number, at: place)
        return nil
    }

    /// Notes that the handshake can begin.
    mutating func begin(_ number: Int) {
        guard let network = networks[number] else { return }
        pending[network, default: []].append(number)
        pendingCount += 1
    }

    /// Notes that the handshake is done.
    mutating func establish(_ number: Int) {
        guard let network = networks[number], let index = pending[network]?.firstIndex(of: number) else { return }
        pending[network]?.remove(at: index)
        if pending[network]?.isEmpty ?? false { pending[network] = nil }
        pendingCount -= 1
    }

    /// Releases the place of a connection.
    ///
    /// - Returns: whether it had a place.
    @discardableResult
    mutating func leave(_ number: Int) -> Bool {
        establish(number)
        guard let network = networks.removeValue(forKey: number) else { return false }
        if let network, let count = counts[network] { counts[network] = count > 1 ? count - 1 : nil }
        return true
    }

    /// Notes that a refused connection has received the reason.
    mutating func refused() {
        refusals -= 1
    }

    /// The longest pending connection of the network that has most pending ones.
    private var longestPending: Int? {
        let crowd = pending.max { ($0.value.count, -($0.value.first ?? 0)) < ($1.value.count, -($1.value.first ?? 0)) }
        return crowd?.value.first
    }
}
