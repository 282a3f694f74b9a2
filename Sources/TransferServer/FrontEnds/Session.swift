import TransferProtocol

/// A conversation with one client, in the way of its front end. Lives on the loop of its connection; whoever makes it lets it
/// run, once.
protocol Session: Actor {
    /// Lives through the whole conversation, or until its client rests; returns when nothing of it is left.
    func run() async

    /// When it has run, what is left of the conversation with a client that rests, whose socket is open; nothing where that is
    /// closed.
    var rest: (any RestingSession)? { get }

    /// Lets what is under way finish, takes nothing else, and says goodbye.
    func drain()

    /// Waits for nothing more; the client is told, so that it can go on elsewhere or later.
    func stop()

    /// Ends at once, because others need the place. The socket is closed afterwards.
    ///
    /// - Parameter fault: what the client is told, where its protocol can say it.
    func evict(for fault: ProtocolFault)
}

extension Session {
    /// Most conversations end when their client has nothing more to say.
    var rest: (any RestingSession)? { nil }
}

/// What is kept of a conversation whose client says nothing: as little as it takes to go on, because thousands may rest.
protocol RestingSession: Sendable {
    /// Makes the session that goes on with it.
    func session(for handover: Handover, of core: ServerCore) -> any Session
}
