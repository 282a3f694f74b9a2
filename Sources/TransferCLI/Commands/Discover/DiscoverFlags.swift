internal import TransferClient
private import TransferIO
internal import TransferModel
private import TransferServer

/// The flags of `transfer discover`. Their values from the environment and the configuration apply to `discover:NAME`,
/// too.
enum DiscoverFlags {
    static let all = [places.flag, port.flag, patience.flag, json.flag, .insecurePermissions, .help]

    /// The longest time to wait for answers, in seconds. `ServerSearch` does not wait longer.
    private static let longest = 60.0

    static let places = Flag(
        name: "at", placeholder: "HOST[:PORT]", help: "Ask HOST instead of all machines on the network.",
        details:
            "May be given several times. HOST can be the broadcast address of a network, or a machine behind a router."
    ).texts

    static let port = Flag(
        name: "port", placeholder: "PORT", help: "The UDP port to send questions to.",
        details: "Servers answer on the port that they listen on, unless started with another one."
    ).count(in: 1...65_535, default: Int(ServerAddress.defaultPort))

    static let patience = Flag(
        name: "wait", placeholder: "DURATION", help: "How long to wait for answers, 60 seconds at most.",
        details: DurationNotation.description
    ).interval(default: .seconds(ServerSearch().patience))

    static let json = Flag(name: "json", help: "Print one JSON object per line for every server.").isOn

    /// - Parameter port: the UDP port to which probes are sent; nil for the port that the flags choose.
    static func search(_ arguments: ParsedArguments, port: UInt16? = nil) throws(UsageError) -> ServerSearch {
        var search = ServerSearch()
        let usual = UInt16(clamping: try arguments[Self.port])
        search.port = port ?? usual
        search.patience = try arguments[patience].seconds
        guard search.patience <= longest else {
            throw arguments.error("\(arguments.source(of: patience.flag)) must be 60s at most")
        }
        for text in arguments[places] {
            guard let place = Endpoint(text, defaultPort: search.port), case .internet(let host, let given) = place
            else {
                throw arguments.error(
                    "\(arguments.source(of: places.flag)): '\(text.escapedForDisplay)' is not an address "
                        + "to ask; give HOST[:PORT]"
                )
            }
            search.places.append(ServerAddress(.internet(host: host, port: port ?? given), folder: ""))
        }
        return search
    }
}
