import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Lets clients find a server: binds the sockets, and answers each datagram as `DiscoveryResponder` decides. Datagrams have their own
/// thread, so a flood only hinders other clients that look for the server.
final class DiscoveryService: Sendable {
    private let datagrams: DatagramService
    private let reach: DiscoveryReach
    private let identity: DiscoveryResponder.Identity
    private let networkOf: @Sendable (SocketAddress) -> PeerNetwork?

    /// Binds the sockets; answers nothing yet. Blocks.
    ///
    /// - Parameters:
    ///   - listening: the addresses of the listeners.
    ///   - networkOf: returns the network for which limits count an address.
    /// - Throws: `ServerError`.
    init(
        _ options: DiscoveryOptions, listening: [SocketAddress],
        networkOf: @escaping @Sendable (SocketAddress) -> PeerNetwork?
    ) throws(ServerError) {
        reach = DiscoveryReach(listening: listening)
        var generator = SystemRandomNumberGenerator()
        identity = .init(name: options.name, instance: generator.next())
        self.networkOf = networkOf
        let places = try options.endpoints.isEmpty ? reach.usualPlaces : Self.resolve(options.endpoints)
        guard !reach.usualPlaces.isEmpty, !places.isEmpty else {
            throw ServerError(
                "This server cannot be found, because it listens on Unix sockets only. Add --listen "
                    + "HOST:PORT, or remove --discover."
            )
        }
        var sockets: [DatagramSocket] = []
        for place in places { sockets.append(try Self.bind(place, beside: sockets.map(\.address))) }
        do throws(SystemError) {
            datagrams = try DatagramService(sockets)
        } catch {
            throw ServerError("Cannot answer searches for servers: \(error).")
        }
    }

    /// The addresses of the sockets, with the ports that the system chose for port 0.
    var addresses: [SocketAddress] { datagrams.sockets.map(\.address) }

    /// The name that the server answers with.
    var name: DiscoveryName { identity.name }

    /// Begins to answer.
    ///
    /// - Parameter keyDigest: digest of the server's current key; nil without TLS. Called on the thread of the service.
    func run(keyDigest: @escaping @Sendable () -> [UInt8]?) throws(SystemError) {
        let responder = DiscoveryResponder(identity, ownPorts: Set(addresses.compactMap(\.port)), at: .now)
        let state = Locked(State(responder: responder, neighbours: LinkNeighbours { Self.interfaces }))
        try datagrams.run(name: "transfer-find") { [self] socket, arrival, bytes in
            state.withLock { answer(socket, arrival, bytes, keyDigest, &$0) }
        }
    }

    /// Stops answering and closes the sockets. Blocks until both is done.
    func close() {
        datagrams.close()
    }

    /// Stops answering and closes the sockets, without waiting.
    func stop() {
        datagrams.stop()
    }

    /// The state of the service's thread; no other thread takes the lock.
    private struct State {
        var responder: DiscoveryResponder
        var neighbours: LinkNeighbours
    }

    private func answer(
        _ socket: DatagramSocket, _ arrival: DatagramArrival, _ bytes: ArraySlice<UInt8>,
        _ keyDigest: () -> [UInt8]?, _ state: inout State
    ) {
        let now = MonotonicTime.now
        guard let port = arrival.source.port, let source = IPAddress(arrival.source) else { return }
        let place = reach.place(for: arrival) { state.neighbours.interfaces(at: now) }
        let isFromLink = arrival.isForMany && state.neighbours.include(source, on: arrival.interface, at: now)
        var described = DiscoveryResponder.Arrival(
            port: port, network: networkOf(arrival.source), ports: place?.ports ?? [])
        (described.isForMany, described.isFromLink) = (arrival.isForMany, isFromLink)
        (described.hops, described.trafficClass) = (arrival.hops, arrival.trafficClass)
        switch state.responder.reply(to: bytes, described, keyDigest: keyDigest, at: now) {
        case .nothing: break
        case .answer(let content, let hops): send(content[...], hops, socket, arrival, from: place?.address)
        case .echo(let hops): send(bytes, hops, socket, arrival, from: place?.address)
        }
    }

    /// Sends an answer. If it cannot be sent, the failure is ignored and the client gets no answer.
    private func send(
        _ bytes: ArraySlice<UInt8>, _ hops: UInt8, _ socket: DatagramSocket, _ arrival: DatagramArrival,
        from address: IPAddress?
    ) {
        let from = address.flatMap { $0.isUnspecified ? nil : $0 }
        try? socket.send(
            bytes, to: arrival.source, from: from, interface: from?.isLinkLocal == true ? arrival.interface : 0,
            hops: hops,
            trafficClass: DiscoveryResponder.mark)
    }

    /// This machine's interfaces; empty if the process may not read them, and then no sender counts as a neighbour.
    private static var interfaces: [NetworkInterface] { (try? NetworkInterface.all()) ?? [] }
}

// MARK: Binding

extension DiscoveryService {
    private static func resolve(_ endpoints: [Endpoint]) throws(ServerError) -> [SocketAddress] {
        var places: [SocketAddress] = []
        for endpoint in endpoints {
            do throws(ResolutionError) {
                places += try endpoint.resolve()
            } catch {
                throw ServerError("Cannot answer searches for servers on \(endpoint): \(error.reason).")
            }
        }
        return places
    }

    private static func bind(
        _ place: SocketAddress, beside own: [SocketAddress]
    ) throws(ServerError) -> DatagramSocket {
        do throws(SystemError) {
            return try DatagramSocket(place)
        } catch {
            let advice = error.isAddressInUse ? " " + explanation(place, own.first { $0.overlaps(place) }) : ""
            throw ServerError(
                "Cannot answer searches for servers on \(place) (UDP): \(error.reason).\(advice)")
        }
    }

    /// - Parameter own: an address of this server's sockets that overlaps with `place`; nil if another program has the port.
    private static func explanation(_ place: SocketAddress, _ own: SocketAddress?) -> String {
        guard let own else {
            return "Another program uses the UDP port. Choose another one with --discover-listen, or remove --discover."
        }
        return own.description == place.description
            ? "--discover-listen gives it twice."
            : "It overlaps with \(own), which --discover-listen gives too: one of the two stands for all "
                + "addresses. Give only one of them."
    }
}

extension SocketAddress {
    /// Whether only one socket can be bound to both addresses: their ports are the same, and either both addresses are the same, or one of
    /// them stands for all addresses.
    fileprivate func overlaps(_ other: SocketAddress) -> Bool {
        guard family == other.family, port == other.port, let own = IPAddress(self), let others = IPAddress(other)
        else {
            return false
        }
        return own == others || own.isUnspecified || others.isUnspecified
    }
}
