import TransferHTTP

/// What is asked of the server itself, and not of what is stored in it.
struct HTTPService: Sendable {
    let core: ServerCore

    /// Whether nothing else is answered on the connection.
    let isForProbes: Bool

    var shared: HTTPShared { core.http }

    init(_ core: ServerCore, isForProbes: Bool) {
        (self.core, self.isForProbes) = (core, isForProbes)
    }

    /// - Returns: nothing for a request that is about something else.
    func probe(_ head: RequestHead) -> HTTPProbe? {
        guard let probe = HTTPProbe(head) else { return nil }
        // Where they are told elsewhere or not at all, a file may be called so.
        return probe == .metrics && !isForProbes && core.configuration.metrics != .on ? nil : probe
    }

    /// Whether whoever asks has his answer without showing who he is.
    func isForAnybody(_ head: RequestHead) -> Bool {
        isForProbes || probe(head).map { $0 != .metrics } ?? false
    }
}

/// What all connections of a server share on which HTTP is spoken.
final class HTTPShared: Sendable {
    let digests = ReprDigests()
    let news = UploadNews()
    let running: RunningUploads

    init(_ connections: ConnectionList) {
        running = RunningUploads(connections)
    }
}
