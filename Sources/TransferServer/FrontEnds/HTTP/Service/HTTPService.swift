import TransferHTTP

/// What is asked of the server itself, and not of what is stored in it.
struct HTTPService: Sendable {
    let core: ServerCore

    var shared: HTTPShared { core.http }

    init(_ core: ServerCore) { self.core = core }

    /// - Returns: nothing for a request that is about something else.
    func probe(_ head: RequestHead) -> HTTPProbe? { HTTPProbe(head) }
}
