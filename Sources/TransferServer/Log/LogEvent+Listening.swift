import TransferAccess
import TransferClassic
import TransferIO
import TransferModel

/// Where the server can be reached.
extension LogEvent {
    static func listening(_ address: String) -> LogEvent {
        LogEvent(.info, "listening", "listening on \(address)", [("address", .string(address))])
    }

    static func listening(_ endpoint: Endpoint, _ classic: ClassicListener, isLocal: Bool) -> LogEvent {
        let (framing, folder) = (classic.framing.name, classic.options.folder?.string)
        let place = folder.map { ", into the folder \($0.escapedForDisplay)" } ?? ""
        let warning = "; IT KNOWS NO ENCRYPTION AND NO KEYS: EVERYBODY WHO REACHES IT MAY PUSH"
        return LogEvent(
            isLocal ? .info : .warning, "listeningClassic",
            "listening on \(endpoint) for clients that speak \(framing)\(place)\(isLocal ? "" : warning)",
            [
                ("address", .string(endpoint.description)), ("framing", .string(framing)),
                ("folder", folder.map { .string($0) } ?? .null), ("local", .bool(isLocal)),
            ])
    }

    static func listeningForProxies(_ endpoint: Endpoint, isLocal: Bool) -> LogEvent {
        let warning = isLocal ? "" : "; WHOEVER IS ON THE WAY CAN READ TOKENS AND CHANGE WHAT IS SENT"
        return LogEvent(
            isLocal ? .info : .warning, "listeningPlainHTTP",
            "listening on \(endpoint) for HTTP from a proxy, without encryption\(warning)",
            [("address", .string(endpoint.description)), ("local", .bool(isLocal))])
    }

    static func listeningForProbes(_ endpoint: Endpoint, isLocal: Bool) -> LogEvent {
        LogEvent(
            isLocal ? .info : .warning, "listeningForProbes",
            "listening on \(endpoint) for /metrics, /healthz and /readyz"
                + (isLocal ? "" : "; EVERYBODY WHO REACHES IT CAN READ THEM"),
            [("address", .string(endpoint.description)), ("local", .bool(isLocal))])
    }
}
