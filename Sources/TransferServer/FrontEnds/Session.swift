/// A conversation with one client, in the way of its front end. Lives on the loop of its connection; whoever makes it lets it
/// run, once.
protocol Session: Actor {
    /// Lives through the whole conversation; returns when the socket is closed and nothing of it is left.
    func run() async

    /// Lets what is under way finish, takes nothing else, and says goodbye.
    func drain()

    /// Waits for nothing more; the client is told, so that it can go on elsewhere or later.
    func stop()

    /// Ends at once, because others need the place and this client has not said yet who it is. The socket is closed
    /// afterwards.
    func evict()
}
