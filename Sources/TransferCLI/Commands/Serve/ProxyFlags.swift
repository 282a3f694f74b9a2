private import TransferIO
private import TransferModel
internal import TransferServer

/// Flags of `transfer serve` that concern HTTP behind a proxy.
enum ProxyFlags {
    static let listeners = Flag(
        name: "http-plain", placeholder: "ADDRESS",
        help: "Also serve HTTP without encryption, for a proxy, on HOST:PORT, [IPv6]:PORT or unix:PATH.",
        details:
            "May be given several times. Tokens and rights apply as everywhere; keys cannot be used "
            + "there, and no client is taken for the user who runs the server. A Unix socket is open to "
            + "the server's user and group. An address that other machines can reach needs "
            + "--allow-insecure. See docs/reference/http.md."
    ).texts

    static let trusted = Flag(
        name: "trusted-proxy", placeholder: "ADDRESS[/BITS]",
        help: "Trust what this proxy says about its clients: an address, a network, or unix for Unix sockets.",
        details:
            "May be given several times. Forwarded, or X-Forwarded-For, -Proto and -Host, of a trusted "
            + "proxy name the client, for limits, the log and 'transfer status', and the address that it "
            + "asked for. Of others these fields are ignored."
    ).texts

    static let balancers = Flag(
        name: "proxy-protocol", placeholder: "ADDRESS[/BITS]",
        help: "Expect the PROXY protocol from this TCP balancer, an address or a network.",
        details:
            "May be given several times. Each connection of such a balancer to --listen must begin with a "
            + "PROXY header, version 1 or 2, which names the client for limits, the log and 'transfer "
            + "status'. Of others a header is not accepted. See docs/reference/http.md."
    ).texts

    /// - Throws: `UsageError` for an invalid address, and for one that other machines can reach without
    ///   `--allow-insecure`.
    static func apply(_ arguments: ParsedArguments, to configuration: inout ServerConfiguration) throws(UsageError) {
        configuration.plainHTTP = try plain(arguments)
        configuration.isPlainHTTPBeyondThisMachine = arguments[ServeFlags.allowsInsecure]
        for text in arguments[trusted] {
            guard let proxy = TrustedProxy(text) else {
                throw arguments.error(
                    "'\(text.escapedForDisplay)' is not a proxy for --trusted-proxy; give ADDRESS, "
                        + "ADDRESS/BITS or unix")
            }
            configuration.trustedProxies.append(proxy)
        }
        for text in arguments[balancers] {
            guard let balancer = TrustedProxy(text), balancer != .unix else {
                throw arguments.error(
                    "'\(text.escapedForDisplay)' is not a balancer for --proxy-protocol; give ADDRESS or ADDRESS/BITS")
            }
            configuration.balancers.append(balancer)
        }
        guard arguments[trusted].isEmpty || configuration.http != .off || !configuration.plainHTTP.isEmpty else {
            throw arguments.error("--trusted-proxy needs --http on or --http-plain")
        }
    }

    private static func plain(_ arguments: ParsedArguments) throws(UsageError) -> [PlainHTTPListener] {
        var made: [PlainHTTPListener] = []
        for text in arguments[listeners] {
            // Without a port, the kernel would choose another one at each start.
            guard let endpoint = Endpoint(text, defaultPort: 0), endpoint == Endpoint(text, defaultPort: 1) else {
                throw arguments.error(
                    "'\(text.escapedForDisplay)' is not an address for --http-plain; give HOST:PORT, "
                        + "[IPv6]:PORT or unix:PATH")
            }
            guard arguments[ServeFlags.allowsInsecure] || endpoint.mayBeLocal else {
                throw arguments.error("--http-plain on an address that others can reach needs --allow-insecure")
            }
            let listener = PlainHTTPListener(endpoint)
            guard !made.contains(where: { ListenerUse.http($0).mark == ListenerUse.http(listener).mark }) else {
                throw arguments.error("--http-plain '\(text.escapedForDisplay)' is given twice")
            }
            made.append(listener)
        }
        return made
    }
}
