private import TransferIO
private import TransferModel
internal import TransferServer

/// The flag of `transfer serve` for monitoring.
enum MetricsFlag {
    static let place = Flag(
        name: "metrics", placeholder: "WHERE", help: "Where to serve metrics for Prometheus: off, on, or an address.",
        details:
            "on serves them at /metrics of --http, to clients that may see everything. HOST:PORT, "
            + "[IPv6]:PORT or unix:PATH serves them on an address of its own, without encryption, to "
            + "anyone who can reach it. See docs/reference/metrics.md."
    ).text(default: "off")

    /// - Throws: `UsageError` for an invalid value, and for `on` without HTTP.
    static func use(_ arguments: ParsedArguments, _ http: HTTPUse) throws(UsageError) -> MetricsUse {
        let text = arguments[place]
        if text.hasSameBytes(as: "off") { return .off }
        if text.hasSameBytes(as: "on") {
            guard http != .off else { throw arguments.error("--metrics on needs --http; or give it an address") }
            return .on
        }
        guard let endpoint = Endpoint(text, defaultPort: 0), endpoint.hasPlace else {
            throw arguments.error("'\(text.escapedForDisplay)' for --metrics is not off, on, or HOST:PORT")
        }
        return .listener(endpoint)
    }
}

extension Endpoint {
    /// Whether clients can find the address. It must have a port, because there is no default port.
    fileprivate var hasPlace: Bool {
        if case .internet(_, let port) = self { port != 0 } else { true }
    }
}
