private import TransferAccess
private import TransferIO
private import TransferModel
private import TransferProtocol
internal import TransferServer
private import TransferSystem

/// The flags of `transfer serve` by which a server is found.
enum DiscoveryFlags {
    static let all = [isOn.flag, name.flag, places.flag]

    static let isOn = Flag(
        name: "discover", help: "Let clients on the same network find this server.",
        details:
            "It then answers 'transfer discover' by UDP, at the ports that it listens on, with its name and the fingerprint of "
            + "its key, and sends any other datagram back as it came."
    ).isOn

    private static let name = Flag(
        name: "discover-name", placeholder: "NAME", help: "What the server is called there.",
        details: "Without it, the name of this machine. At most 64 bytes, without : and /."
    ).text

    private static let places = Flag(
        name: "discover-listen", placeholder: "ADDRESS",
        help: "Where to wait for those who look: HOST:PORT or [IPv6]:PORT.",
        details: "UDP; may be given several times. Broadcasts come to 0.0.0.0 and [::] only."
    ).texts

    static let effect = FlagEffect<ServerConfiguration>(isOn.flag) { (arguments, configuration) throws(UsageError) in
        guard arguments[isOn] else {
            for flag in [name.flag, places.flag] where arguments.isSet(flag) {
                throw arguments.error("\(arguments.source(of: flag)) is for --discover")
            }
            return
        }
        var options = DiscoveryOptions(name: try ownName(arguments))
        for text in arguments[places] {
            guard case .internet(let host, let port)? = Endpoint(text, defaultPort: TransferLink.defaultPort) else {
                let fault = Endpoint.portFault(in: text).map { "; \($0)" } ?? ""
                throw arguments.error("'\(text.escapedForDisplay)' is not an address to wait on for datagrams\(fault)")
            }
            options.endpoints.append(.internet(host: host, port: port))
        }
        configuration.discovery = options
    }

    private static func ownName(_ arguments: ParsedArguments) throws(UsageError) -> DiscoveryName {
        guard let text = arguments[name] else {
            guard let name = HostName.own.flatMap({ DiscoveryName($0) }) else {
                throw arguments.error(
                    "this machine has no name that others could look for; give one with --discover-name")
            }
            return name
        }
        guard let name = DiscoveryName(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' cannot be the name of a server; take at most 64 bytes, not only digits, without : and /"
            )
        }
        return name
    }
}
