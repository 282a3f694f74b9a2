import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// From where requests come.
extension HTTPSession {
    /// - Throws: when a proxy says what cannot be understood; the client is told why.
    func way(of head: RequestHead) throws(ProtocolFault) -> HTTPWay {
        var way = HTTPWay(origin: origin, isSecure: driver.socket?.isSecure == true ? true : nil)
        // Whatever comes over a proxy may come from anywhere.
        if isPlain || origin.isProxy { way.origin.isLocal = false }
        if origin.isProxy {
            do throws(HTTPFault) {
                try way.believe(head.fields, web.proxies) { [web] in web.origin(of: $0) }
            } catch {
                fault = error
                throw ProtocolFault(.malformedFrame, error.message)
            }
        }
        way.isMisdirected = web.hosts.isMisdirected(head, way)
        return way
    }
}

/// What a server knows of the ways to it over HTTP.
struct HTTPWays: Sendable {
    let proxies: [TrustedProxy]
    let hosts: OwnHosts
    private let network: @Sendable (SocketAddress) -> PeerNetwork?

    init(_ configuration: ServerConfiguration, covers: @escaping @Sendable (String) -> Bool) {
        proxies = configuration.trustedProxies
        hosts = OwnHosts(isAsked: configuration.isOpen, names: configuration.ownNames, covers: covers)
        network = configuration.network
    }

    /// Of a client whose address a proxy has told: on this machine it is the proxy that is.
    func origin(of address: IPAddress) -> PeerOrigin {
        PeerOrigin(
            name: address.text ?? "unknown", network: network(SocketAddress(address, port: 0)), isLocal: false)
    }
}
