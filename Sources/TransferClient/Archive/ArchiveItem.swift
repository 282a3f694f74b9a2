import TransferModel

/// Something that an archive has beside the content of files.
final class ArchiveItem: Sendable {
    let form: EntryForm

    /// What it is called in its report.
    let source: String

    /// Where it is on this machine; nil for what is on a server.
    let place: SourcePlace?

    /// With the path that it is to have on the side that is changed.
    let entry: SyncEntry

    /// What had that path when this was found.
    let there: SyncEntry?

    /// Whether the caller has named it.
    let isNamed: Bool

    init(
        _ form: EntryForm, _ source: String, at place: SourcePlace? = nil, _ entry: SyncEntry, there: SyncEntry?,
        isNamed: Bool = false
    ) {
        (self.form, self.source, self.place, self.entry) = (form, source, place, entry)
        (self.there, self.isNamed) = (there, isNamed)
    }

    var path: RelativePath { entry.path }

    /// Whether it is a folder that was not there.
    var isNewFolder: Bool { form == .folder && !(there?.isFolder ?? false) }
}

/// What came of one.
struct ArchiveOutcome: Sendable {
    /// `committed` when it was made, `alreadyStored` when it was there; or why it is not.
    var result: ResultCode

    /// Where it is, or would be.
    var path: RelativePath

    /// A sentence for people; empty when there is nothing to say.
    var message = ""

    /// Whether it was there and has other attributes now.
    var hasNewAttributes = false

    /// Whether the side that is changed was asked for it, and has done it.
    var isAsked = true
}
