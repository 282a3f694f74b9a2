extension LogEvent {
    /// What the program has to say about how the server was started.
    ///
    /// - Parameters:
    ///   - name: stable, for machines.
    ///   - text: a sentence without a full stop, for people.
    package static func announcement(_ level: Level, _ name: String, _ text: String) -> LogEvent {
        LogEvent(level, name, text, [("message", .string(text))])
    }
}
