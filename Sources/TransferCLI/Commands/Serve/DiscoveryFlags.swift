private import TransferAccess
private import TransferIO
private import TransferModel
private import TransferProtocol
internal import TransferServer
private import TransferSystem

/// The flags of `transfer serve` for discovery.
enum DiscoveryFlags {
    static let all = [isOn.flag, name.flag, places.flag]

    static let isOn = Flag(
        name: "discover", help: "Let clients on the same network find this server.",
        details:
            "It then answers 'transfer discover' by UDP, on the ports that it listens on, with its name "
            + "and the fingerprint of its key, and echoes any other datagram."
    ).isOn

    private static let name = Flag(
        name: "discover-name", placeholder: "NAME", help: "The name of the server for 'transfer discover'.",
        details: "By default, the name of this machine. At most 64 bytes, without : and /."
    ).text

    private static let places = Flag(
        name: "discover-listen", placeholder: "ADDRESS",
        help: "The UDP address to answer 'transfer discover' on: HOST:PORT or [IPv6]:PORT.",
        details: "May be given several times. Broadcasts reach only 0.0.0.0 and [::]."
    ).texts

    static let effect = FlagEffect<ServerConfiguration>(isOn.flag) { (arguments, configuration) throws(UsageError) in
        guard arguments[isOn] else {
            for flag in [name.flag, places.flag] where arguments.isSet(flag) {
                throw arguments.error("\(arguments.source(of: flag)) needs --discover")
            }
            return
        }
        var options = DiscoveryOptions(name: try ownName(arguments))
        for text in arguments[places] {
            guard case .internet(let host, let port)? = Endpoint(text, defaultPort: TransferLink.defaultPort) else {
                let fault = Endpoint.portFault(in: text).map { "; \($0)" } ?? ""
                throw arguments.error("'\(text.escapedForDisplay)' is not a UDP address to listen on\(fault)")
            }
            options.endpoints.append(.internet(host: host, port: port))
        }
        configuration.discovery = options
    }

    private static func ownName(_ arguments: ParsedArguments) throws(UsageError) -> DiscoveryName {
        guard let text = arguments[name] else {
            guard let name = HostName.own.flatMap({ DiscoveryName($0) }) else {
                throw arguments.error(
                    "this machine has no name that can be used; give one with --discover-name")
            }
            return name
        }
        guard let name = DiscoveryName(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not a valid name of a server; use at most 64 bytes, not "
                    + "only digits, without : and /"
            )
        }
        return name
    }
}
