import TransferIO
import TransferModel

/// The addresses at which clients can connect to a server. The server can be found at these addresses, and at no others.
struct DiscoveryReach: Sendable {
    private struct Place: Hashable {
        let address: IPAddress
        let port: UInt16
    }

    private let places: [Place]

    /// - Parameter listening: the addresses of the listeners; Unix sockets are ignored.
    init(listening: [SocketAddress]) {
        places = listening.compactMap { place in
            guard let address = IPAddress(place), let port = place.port else { return nil }
            return Place(address: address, port: port)
        }
    }

    /// Where to wait for datagrams by default: at the port of each listener's address. Only a socket that is bound to all addresses of a
    /// family receives broadcasts, so an address that other machines can reach is replaced by all addresses; `ports` then restricts the
    /// answers. A server that only this machine reaches binds only loopback addresses.
    var usualPlaces: [SocketAddress] {
        var wanted: [Place] = []
        for place in places {
            let isShared = places.contains {
                $0.port == place.port && $0.address.family == place.address.family && !$0.address.isLoopback
            }
            let address = isShared ? Self.unspecified(place.address.family) : place.address
            let usual = Place(address: address, port: place.port)
            if !wanted.contains(usual) { wanted.append(usual) }
        }
        return wanted.map { SocketAddress($0.address, port: $0.port) }
    }

    /// Ports of the listeners that are bound to this address or to all addresses.
    func ports(at address: IPAddress) -> [UInt16] {
        let ports = places.filter { place in
            place.address == address || place.address == Self.unspecified(address.family)
        }.map(\.port)
        return ports.enumerated().filter { !ports[..<$0.offset].contains($0.element) }.map(\.element)
    }

    /// The address to answer from, and the ports of listeners there.
    ///
    /// - Parameters:
    ///   - arrival: the received datagram.
    ///   - interfaces: this machine's interfaces; read only if the kernel does not say which address was meant.
    /// - Returns: nil if no client could connect.
    func place(
        for arrival: DatagramArrival, _ interfaces: () -> [NetworkInterface]
    ) -> (address: IPAddress, ports: [UInt16])? {
        guard let destination = arrival.destination else { return nil }
        if !arrival.isForMany {
            let ports = ports(at: destination)
            return ports.isEmpty ? nil : (destination, ports)
        }
        let family = destination.family
        let candidates = [arrival.local].compactMap(\.self) + [Self.unspecified(family)]
        for address in candidates where !ports(at: address).isEmpty { return (address, ports(at: address)) }
        return interfaces().lazy.filter { $0.index == arrival.interface && $0.address.family == family }
            .map { ($0.address, ports(at: $0.address)) }.first { !$0.1.isEmpty }
    }

    private static func unspecified(_ family: Int32) -> IPAddress {
        family == IPAddress.ipv4Loopback.family ? .ipv4(0) : .ipv6(high: 0, low: 0)
    }
}
