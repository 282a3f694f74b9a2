import TransferModel

extension LogEvent {
    /// A browser has used a link.
    static func sessionBegan(_ client: String, _ id: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "sessionBegan", "a browser at \(peer) is \(client.escapedForDisplay) from now on",
            fields(client, id, peer))
    }

    /// A browser has signed out.
    static func sessionEnded(_ client: String, _ id: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "sessionEnded", "the browser of \(client.escapedForDisplay) at \(peer) has signed out",
            fields(client, id, peer))
    }

    private static func fields(_ client: String, _ id: String, _ peer: String) -> [(String, LogValue)] {
        [("peer", .string(peer)), ("client", .string(client)), ("id", .string(id))]
    }
}
