internal import TransferAccess
internal import TransferIO
private import TransferModel

/// The address at which clients reach a server, if its operator has given one.
struct AdvertisedAddress: Sendable {
    /// A name or an address, without brackets.
    let host: String

    /// Nil if the operator gave no port.
    let port: UInt16?

    /// The flag `--advertise`. Its value is nil if the flag is not given.
    static func key(help: String, details: String) -> FlagKey<AdvertisedAddress?, UsageError> {
        let flag = Flag(name: "advertise", placeholder: "HOST[:PORT]", help: help, details: details)
        return FlagKey(flag) { (arguments, flag) throws(UsageError) in
            guard let text = arguments[flag.text] else { return nil }
            guard let address = AdvertisedAddress(text) else {
                throw arguments.error("'\(text.escapedForDisplay)' is not an address that clients can use")
            }
            return address
        }
    }

    /// - Returns: nil for an address that a link cannot contain.
    init?(_ text: String) {
        guard case .internet(let host, let port)? = Endpoint(text, defaultPort: 0),
            TransferLink(host: host, port: TransferLink.defaultPort) != nil
        else { return nil }
        self.host = host
        self.port = port == 0 ? nil : port
    }

    /// The address as the value of `--advertise`.
    var text: String { port.map { Endpoint.internet(host: host, port: $0).description } ?? host }

    /// The host at which other machines reach a listening socket. If the socket listens on a wildcard address, this is
    /// the best address of this machine.
    ///
    /// - Returns: nil for a Unix socket, and on a machine without a network.
    static func host(of endpoint: Endpoint) -> String? {
        guard case .internet(let bound, _) = endpoint else { return nil }
        switch bound {
        case "0.0.0.0": return HostAddress.best(among: [.ipv4])
        case "::", "*": return HostAddress.best(among: [.ipv6, .ipv4])
        default: return bound
        }
    }
}
