import TransferModel

extension LogEvent {
    /// - Parameter size: bytes of what was sent.
    static func fetchedOverHTTP(_ path: String, _ size: UInt64, seconds: Double, peer: String) -> LogEvent {
        LogEvent(
            .info, "fetched",
            "sent \(path.escapedForDisplay) over HTTP, \(size) bytes in \(seconds.shown(decimals: 3)) s",
            [
                ("path", .string(path)), ("size", .unsigned(size)), ("seconds", .number(seconds)),
                ("peer", .string(peer)),
            ])
    }
}
