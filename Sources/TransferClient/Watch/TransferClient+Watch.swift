import TransferModel

extension TransferClient {
    /// Sends what appears and changes in a directory and below it, until it is stopped. Files are stored under their
    /// paths below the directory. Scans find what is to be sent, and the kernel says when to look; see
    /// `docs/design/watch.md`.
    ///
    /// A server that cannot be reached is waited for, and so is a directory that is not there. The rules are those of
    /// `options`; the client's own selection, `recipients` and `asksByFolder` are of no use here.
    ///
    /// - Returns: what happens. It throws `TransferFailure` when the server does not let this client in at the beginning,
    ///   when another process watches the same for the same server, and when `options` cannot be met.
    public func watch(_ directory: String, _ options: WatchOptions = WatchOptions()) -> RequestEvents<WatchEvent> {
        let events = EventQueue<WatchEvent>()
        do throws(TransferFailure) {
            try WatchLoop(self, directory, options, events).start()
        } catch {
            events.finish(.failure(error))
        }
        return RequestEvents(events)
    }
}
