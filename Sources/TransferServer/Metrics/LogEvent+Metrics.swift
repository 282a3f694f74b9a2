import TransferIO

extension LogEvent {
    static func listeningForProbes(_ endpoint: Endpoint, isLocal: Bool) -> LogEvent {
        LogEvent(
            isLocal ? .info : .warning, "listeningForProbes",
            "listening on \(endpoint) for /metrics, /healthz and /readyz"
                + (isLocal ? "" : "; EVERYBODY WHO REACHES IT CAN READ THEM"),
            [("address", .string(endpoint.description)), ("local", .bool(isLocal))])
    }
}
