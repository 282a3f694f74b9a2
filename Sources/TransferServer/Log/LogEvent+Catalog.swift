import TransferDatabase
import TransferCatalog
import TransferIntake
import TransferModel
import TransferSystem

extension LogEvent {
    init(_ event: IntakeEvent) {
        switch event {
        case .catalogFailed(let error, let unrecorded): self = .catalogFailed(error, unrecorded: unrecorded)
        case .catalogWorks(let unrecorded): self = .catalogWorks(unrecorded: unrecorded)
        case .directoryCopied: self = .directoryCopied
        case .trashGaveWay(let given): self = .trashGaveWay(given)
        case .notAdopted(let path, let error): self = .notAdopted(path, error)
        case .directoryAdopted(let progress): self = .directoryAdopted(progress)
        }
    }

    static func catalogOpened(uploads: Int) -> LogEvent {
        LogEvent(
            .info, "catalog", "the catalog knows \(uploads) uploads",
            [("uploads", .unsigned(UInt64(clamping: uploads)))])
    }

    private static func trashGaveWay(_ given: GivenWay) -> LogEvent {
        LogEvent(
            .info, "trashGaveWay",
            "removed \(given.files) files of the trash for good, in \(given.batches) parts, because their room was needed",
            [
                ("count", .unsigned(given.files)), ("batches", .unsigned(UInt64(clamping: given.batches))),
                ("size", .unsigned(given.bytes)),
            ])
    }

    private static let directoryCopied = LogEvent(
        .info, "directoryCopied",
        "the directory is a copy, or was restored: its files are compared with what was acknowledged, which holds for those that "
            + "are the same", [])

    private static func directoryAdopted(_ progress: Adoption.Progress) -> LogEvent {
        LogEvent(
            progress.lost > 0 ? .warning : .info, "directoryAdopted",
            "\(progress.adopted) files of the copied directory are what was acknowledged"
                + (progress.lost > 0 ? ", and \(progress.lost) are not although nobody has changed them" : ""),
            [
                ("adopted", .unsigned(UInt64(clamping: progress.adopted))),
                ("lost", .unsigned(UInt64(clamping: progress.lost))), ("bytes", .unsigned(progress.bytes)),
            ])
    }

    private static func notAdopted(_ path: RelativePath, _ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "notAdopted",
            "\(path) cannot be read, so it is not known whether it is what was acknowledged; it is tried again: \(error.reason)",
            [("path", .string(path.string)), ("message", .string(error.description))])
    }

    static func notAdopting(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "notAdopting",
            "files of a copied directory are compared with what was acknowledged only when clients ask for them: \(error)",
            [("message", .string(error.description))])
    }

    /// What was going on with names and attributes when the last server ended.
    static func changesSettled(_ changes: Int) -> LogEvent {
        LogEvent(
            .info, "changesSettled",
            "looked what came of \(changes) changes of names or attributes that the last server did not come to the end of",
            [("changes", .unsigned(UInt64(clamping: changes)))])
    }

    static func catalogDamaged(_ damage: Catalog.Damage) -> LogEvent {
        LogEvent(
            .error, "catalogDamaged", text(damage),
            [
                ("message", .string(damage.error.message)),
                ("movedTo", damage.movedTo.map { .string($0) } ?? .null),
            ])
    }

    private static func text(_ damage: Catalog.Damage) -> String {
        guard let path = damage.movedTo else {
            return "\(damage.error.message) It could not be moved out of the way, so uploads are not recorded; "
                + "stored files are as they were. Move it away and start the server again."
        }
        return
            "\(damage.error.message) It is now '\(path.escapedForDisplay)', and a new one was begun; stored files are "
            + "as they were, and enter the new one when they are pushed again. Keep or delete the old one."
    }

    /// The disk had lost a file, and an upload brought its content again.
    static func healed(_ path: RelativePath, peer: String) -> LogEvent {
        LogEvent(
            .warning, "healed",
            "\(path) was no longer what was stored: the disk had lost it. What was pushed now has taken its place.",
            [("path", .string(path.string)), ("peer", .string(peer))])
    }

    /// - Parameter unrecorded: uploads that were acknowledged without it since it last worked.
    static func catalogFailed(_ error: DatabaseError, unrecorded: Int) -> LogEvent {
        LogEvent(
            .error, "catalogFailed",
            "\(error.message.escapedForDisplay) Uploads are stored and acknowledged without it (\(unrecorded) so far); it "
                + "is tried again with the next ones.",
            [("message", .string(error.message)), ("unrecorded", .unsigned(UInt64(clamping: unrecorded)))])
    }

    /// - Parameter unrecorded: uploads that were acknowledged without it meanwhile.
    static func catalogWorks(unrecorded: Int) -> LogEvent {
        LogEvent(
            .info, "catalogWorks",
            "the catalog works again; \(unrecorded) uploads that were acknowledged meanwhile are not in it",
            [("unrecorded", .unsigned(UInt64(clamping: unrecorded)))])
    }
}
