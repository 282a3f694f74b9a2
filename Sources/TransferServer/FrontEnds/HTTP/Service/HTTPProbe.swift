import TransferHTTP

/// What programs ask that watch over a server.
enum HTTPProbe: String, CaseIterable, Sendable {
    /// Whether it is there.
    case health = "/healthz"
    /// Whether it takes uploads.
    case readiness = "/readyz"
    /// Its numbers.
    case metrics = "/metrics"

    init?(_ head: RequestHead) {
        let path = head.resource.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard let probe = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(path) }) else { return nil }
        self = probe
    }
}
