import TransferAccess
import TransferClassic
import TransferIO
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

extension LogEvent {
    /// - Parameters:
    ///   - settings: names of the settings that have changed.
    ///   - certificate: fingerprint of the certificate's key; nil if no certificate was read again.
    static func reloaded(_ settings: [String], certificate: KeyFingerprint?) -> LogEvent {
        let parts = settings + [certificate.map { "the certificate, whose key is \($0)" }].compactMap(\.self)
        return LogEvent(
            .info, "reloaded", "reloaded: \(parts.isEmpty ? "nothing has changed" : parts.joined(separator: ", "))",
            [
                ("settings", .string(settings.joined(separator: " "))),
                ("fingerprint", certificate.map { .string($0.description) } ?? .null),
            ])
    }

    /// - Parameter settings: names of the settings that have changed in the configuration, but not in this server.
    static func needsRestart(_ settings: [String]) -> LogEvent {
        let names = settings.joined(separator: " ")
        return LogEvent(
            .warning, "needsRestart",
            "the changes of \(settings.joined(separator: ", ")) take effect after a restart; until "
                + "then the old values are used",
            [("settings", .string(names))])
    }

    static let syncFailed = LogEvent(
        .warning, "syncFailed",
        "a sync failed, or was cut short, since this machine was started: until it is started again, a "
            + "file without a known acknowledgement does not count as stored, and clients send it again", [])

    /// - Parameter path: the folder with the catalog.
    static func newState(_ path: String) -> LogEvent {
        LogEvent(
            .warning, "newState",
            "\(path.escapedForDisplay) has no catalog, and the directory had one elsewhere: files that "
                + "were acknowledged before are compared when clients send them again",
            [("path", .string(path))])
    }

    static func lockLost(_ directory: String) -> LogEvent {
        LogEvent(
            .error, "lockLost",
            "another server has taken over \(directory.escapedForDisplay): this one ends, and clients "
                + "send unacknowledged uploads again",
            [("directory", .string(directory))])
    }

    static func waitingForLock(of directory: String, holder: String?) -> LogEvent {
        LogEvent(
            .info, "waitingForLock",
            "waiting for the lock of \(directory.escapedForDisplay), which \(holder ?? "another process") holds",
            [("directory", .string(directory)), ("holder", holder.map { .string($0) } ?? .null)])
    }

    static func waitingForAddress(_ address: String) -> LogEvent {
        LogEvent(
            .info, "waitingForAddress", "waiting for the address \(address), which is still in use",
            [("address", .string(address))])
    }

    static func notReloaded(_ message: String) -> LogEvent {
        LogEvent(
            .error, "notReloaded", "not reloaded, all settings stay as they were: \(message)",
            [("message", .string(message))])
    }

    static func statusUnavailable(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "statusUnavailable", "'transfer status' will not reach this server: \(error)",
            [("message", .string(error.description))])
    }
}

extension LogEvent {
    /// An event of the program about how the server was started.
    ///
    /// - Parameters:
    ///   - name: a stable name for machines.
    ///   - text: a sentence for people, without a full stop.
    package static func announcement(_ level: Level, _ name: String, _ text: String) -> LogEvent {
        LogEvent(level, name, text, [("message", .string(text))])
    }
}

/// Addresses at which the server can be reached.
extension LogEvent {
    static func listening(_ address: String) -> LogEvent {
        LogEvent(.info, "listening", "listening on \(address)", [("address", .string(address))])
    }

    static func listening(_ endpoint: Endpoint, _ classic: ClassicListener, isLocal: Bool) -> LogEvent {
        let (framing, folder) = (classic.framing.name, classic.options.folder?.string)
        let place = folder.map { ", into the folder \($0.escapedForDisplay)" } ?? ""
        let warning = "; IT HAS NO ENCRYPTION AND NO KEYS: EVERY MACHINE THAT REACHES IT MAY PUSH"
        return LogEvent(
            isLocal ? .info : .warning, "listeningClassic",
            "listening on \(endpoint) for clients that speak \(framing)\(place)\(isLocal ? "" : warning)",
            [
                ("address", .string(endpoint.description)), ("framing", .string(framing)),
                ("folder", folder.map { .string($0) } ?? .null), ("local", .bool(isLocal)),
            ])
    }

    static func listeningForProxies(_ endpoint: Endpoint, isLocal: Bool) -> LogEvent {
        let warning = isLocal ? "" : "; AN ATTACKER IN THE NETWORK CAN READ TOKENS AND CHANGE CONTENT"
        return LogEvent(
            isLocal ? .info : .warning, "listeningPlainHTTP",
            "listening on \(endpoint) for HTTP from a proxy, without encryption\(warning)",
            [("address", .string(endpoint.description)), ("local", .bool(isLocal))])
    }

    static func listeningForProbes(_ endpoint: Endpoint, isLocal: Bool) -> LogEvent {
        LogEvent(
            isLocal ? .info : .warning, "listeningForProbes",
            "listening on \(endpoint) for /metrics, /healthz and /readyz"
                + (isLocal ? "" : "; EVERY MACHINE THAT REACHES IT CAN READ THEM"),
            [("address", .string(endpoint.description)), ("local", .bool(isLocal))])
    }
}

extension LogEvent {
    static func discoverable(_ address: String, _ name: String) -> LogEvent {
        LogEvent(
            .info, "discoverable", "can be found as '\(name.escapedForDisplay)' at \(address) (UDP)",
            [("address", .string(address)), ("name", .string(name))])
    }

    static func notDiscoverable(_ message: String) -> LogEvent {
        LogEvent(
            .error, "notDiscoverable", "the server cannot be found by searches until it is restarted: \(message)",
            [("message", .string(message))])
    }

    /// - Parameter error: why the networks of this machine are not known.
    static func broadcastsUnavailable(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "broadcastsUnavailable",
            "IPv4 broadcasts do not find this server, because it cannot list its networks (\(error)); "
                + "under systemd, allow RestrictAddressFamilies=AF_NETLINK",
            [("message", .string(error.description))])
    }
}

extension LogEvent {
    init(_ event: IntakeEvent) {
        switch event {
        case .catalogFailed(let error, let unrecorded): self = .catalogFailed(error, unrecorded: unrecorded)
        case .catalogWorks(let unrecorded): self = .catalogRecovered(unrecorded: unrecorded)
        case .directoryCopied: self = .directoryCopied
        case .trashGaveWay(let given): self = .trashEvicted(given)
        case .notAdopted(let path, let error): self = .notAdopted(path, error)
        case .directoryAdopted(let progress): self = .directoryAdopted(progress)
        }
    }

    static func catalogOpened(uploads: Int) -> LogEvent {
        LogEvent(
            .info, "catalog", "the catalog has \(uploads) uploads",
            [("uploads", .unsigned(UInt64(clamping: uploads)))])
    }

    private static func trashEvicted(_ given: GivenWay) -> LogEvent {
        LogEvent(
            .info, "trashEvicted",
            "permanently removed \(given.files) files from \(given.batches) trash batches, "
                + "because their space was needed",
            [
                ("count", .unsigned(given.files)), ("batches", .unsigned(UInt64(clamping: given.batches))),
                ("size", .unsigned(given.bytes)),
            ])
    }

    private static let directoryCopied = LogEvent(
        .info, "directoryCopied",
        "the directory is a copy, or was restored: its files are compared with the acknowledged "
            + "uploads, and those that are the same stay acknowledged", [])

    private static func directoryAdopted(_ progress: Adoption.Progress) -> LogEvent {
        LogEvent(
            progress.mismatched > 0 ? .warning : .info, "directoryAdopted",
            "\(progress.adopted) files of the copied directory match the acknowledged uploads"
                + (progress.mismatched > 0
                    ? ", and \(progress.mismatched) differ although no program has changed them" : ""),
            [
                ("adopted", .unsigned(UInt64(clamping: progress.adopted))),
                ("mismatched", .unsigned(UInt64(clamping: progress.mismatched))), ("bytes", .unsigned(progress.bytes)),
            ])
    }

    private static func notAdopted(_ path: RelativePath, _ error: Failure) -> LogEvent {
        LogEvent(
            .warning, "notAdopted",
            "\(path) cannot be read, so it is not known whether it matches the acknowledged upload; "
                + "the server tries again. \(error.message)",
            [("path", .string(path.string)), ("message", .string(error.message))])
    }

    static func adoptionDeferred(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "adoptionDeferred",
            "files of a copied directory are compared with the acknowledged uploads only when clients "
                + "ask for them: \(error)",
            [("message", .string(error.description))])
    }

    /// Changes of names and attributes that were under way when the last server ended.
    static func changesResolved(_ changes: Int) -> LogEvent {
        LogEvent(
            .info, "changesResolved",
            "checked the outcome of \(changes) changes of names or attributes that the last server did not finish",
            [("changes", .unsigned(UInt64(clamping: changes)))])
    }

    static func catalogDamaged(_ damage: RecordsDamage) -> LogEvent {
        LogEvent(
            .error, "catalogDamaged", text(damage),
            [
                ("message", .string(damage.error.message)),
                ("movedTo", damage.movedTo.map { .string($0) } ?? .null),
            ])
    }

    private static func text(_ damage: RecordsDamage) -> String {
        guard let path = damage.movedTo else {
            return "\(damage.error.message) It could not be renamed, so uploads are not recorded; stored "
                + "files are unchanged. Move it away and start the server again."
        }
        return
            "\(damage.error.message) It is now '\(path.escapedForDisplay)', and the server began a new "
            + "one; stored files are unchanged, and are recorded in the new one when they are pushed "
            + "again. Keep or delete the old one."
    }

    /// The disk had lost a file, and an upload has stored its content again.
    static func repaired(_ path: RelativePath, peer: String) -> LogEvent {
        LogEvent(
            .warning, "repaired",
            "The disk had damaged \(path). This push has replaced it with the intact content.",
            [("path", .string(path.string)), ("peer", .string(peer))])
    }

    /// - Parameter unrecorded: uploads acknowledged without the catalog since it last worked.
    static func catalogFailed(_ error: RecordsError, unrecorded: Int) -> LogEvent {
        LogEvent(
            .error, "catalogFailed",
            "\(error.message.escapedForDisplay) Uploads are stored and acknowledged without the "
                + "catalog (\(unrecorded) so far); the server tries it again with the next ones.",
            [("message", .string(error.message)), ("unrecorded", .unsigned(UInt64(clamping: unrecorded)))])
    }

    /// - Parameter unrecorded: uploads acknowledged without the catalog in the meantime.
    static func catalogRecovered(unrecorded: Int) -> LogEvent {
        LogEvent(
            .info, "catalogRecovered",
            "the catalog works again; \(unrecorded) uploads that were acknowledged meanwhile are not in it",
            [("unrecorded", .unsigned(UInt64(clamping: unrecorded)))])
    }
}

extension LogEvent {
    static func mailFailed(_ error: RecordsError) -> LogEvent {
        LogEvent(
            .error, "mailFailed",
            "the mailboxes cannot be used, and uploads to recipients are refused: \(error.message) "
                + "Everything else works. The waiting deliveries are in \(mailFileName) and the folder "
                + "\(RelativePath.mailName) beside it: repair the file, or restore both from a backup; "
                + "without that folder, the next start begins with empty mailboxes",
            [("message", .string(error.message))])
    }

    static func mailExpired(_ delivery: Delivery) -> LogEvent {
        let (sender, recipient) = (delivery.mail.sender.escapedForDisplay, delivery.recipient.escapedForDisplay)
        return LogEvent(
            .info, "mailExpired",
            "\(recipient) has not received \(delivery.mail.name.escapedForDisplay) from \(sender) in "
                + "time, \(delivery.mail.size) bytes",
            fields(of: delivery))
    }

    /// - Parameter files: number of files in the mailboxes' folder that no mailbox has.
    static func mailCleanedUp(_ files: Int) -> LogEvent {
        LogEvent(
            .info, "mailCleanedUp", "removed \(files) uploads to recipients that were never acknowledged",
            [("count", .unsigned(UInt64(files)))])
    }

    /// A recipient has received or declined a delivery.
    static func settled(_ delivery: Delivery, peer: String) -> LogEvent {
        let (sender, recipient) = (delivery.mail.sender.escapedForDisplay, delivery.recipient.escapedForDisplay)
        let verb = delivery.state == .delivered ? "has received" : "has declined"
        return LogEvent(
            .info, delivery.state.name,
            "\(recipient) \(verb) \(delivery.mail.name.escapedForDisplay) from \(sender), \(delivery.mail.size) bytes",
            fields(of: delivery) + [("peer", .string(peer))])
    }

    static func fields(of delivery: Delivery) -> [(key: String, value: LogValue)] {
        [
            ("delivery", .string(delivery.mail.id.description)), ("from", .string(delivery.mail.sender)),
            ("to", .string(delivery.recipient)), ("name", .string(delivery.mail.name)),
            ("size", .unsigned(delivery.mail.size)),
        ]
    }
}

extension Log {
    /// Logs that this server listens when another program has given up the address.
    package func waiting(forAddress address: String) {
        write([.waitingForAddress(address)])
    }

    /// Logs that this server waits for the end of the process that has the directory's lock.
    ///
    /// - Parameter holder: the process that has the lock; nil if it is not known.
    package func waiting(forLockOf directory: String, holder: String?) {
        write([.waitingForLock(of: directory, holder: holder)])
    }

    /// Logs that this process replaces an earlier one that a signal has ended.
    ///
    /// - Parameters:
    ///   - signal: the signal that ended the earlier process.
    ///   - restarts: number of processes that signals have ended.
    ///   - reports: the folder with a report on each.
    package func restarted(after signal: Int32, restarts: Int, reports: String) {
        write([.restarted(after: signal, restarts: restarts, reports: reports)])
    }
}

extension LogEvent {
    fileprivate static func restarted(after signal: Int32, restarts: Int, reports: String) -> LogEvent {
        let name = SignalName.of(signal)
        return LogEvent(
            .error, "restarted",
            "the server process was ended by \(name), and a new one has replaced it (\(restarts) since "
                + "the start); a report is in \(reports.escapedForDisplay)",
            [("signal", .string(name)), ("restarts", .unsigned(UInt64(restarts))), ("reports", .string(reports))])
    }
}
