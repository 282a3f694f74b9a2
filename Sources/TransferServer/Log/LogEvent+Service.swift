import TransferKeys
import TransferModel
import TransferSystem

extension LogEvent {
    /// - Parameters:
    ///   - settings: the names of those that have another value now.
    ///   - certificate: the fingerprint of its key, where it was read again.
    static func reloaded(_ settings: [String], certificate: KeyFingerprint?) -> LogEvent {
        let parts = settings + [certificate.map { "the certificate, whose key is \($0)" }].compactMap(\.self)
        return LogEvent(
            .info, "reloaded", "reloaded: \(parts.isEmpty ? "nothing has changed" : parts.joined(separator: ", "))",
            [
                ("settings", .string(settings.joined(separator: " "))),
                ("fingerprint", certificate.map { .string($0.description) } ?? .null),
            ])
    }

    /// - Parameter settings: the names of those that have another value in the configuration and not here.
    static func needsRestart(_ settings: [String]) -> LogEvent {
        let names = settings.joined(separator: " ")
        return LogEvent(
            .warning, "needsRestart",
            "what has changed of \(settings.joined(separator: ", ")) takes a restart; until then the old values hold",
            [("settings", .string(names))])
    }

    static let inDoubt = LogEvent(
        .warning, "inDoubt",
        "a sync failed, or was cut short, since this machine was started: until it is started again, a file that no "
            + "acknowledgement is known of is not taken for stored, and is sent again", [])

    static func notReloaded(_ message: String) -> LogEvent {
        LogEvent(
            .error, "notReloaded", "not reloaded, everything stays as it was: \(message)",
            [("message", .string(message))])
    }

    static func noStatus(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "noStatus", "'transfer status' will not reach this server: \(error)",
            [("message", .string(error.description))])
    }
}

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
