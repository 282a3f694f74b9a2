import TransferModel

/// An entry of an archive: a folder, a link, another name of a file, or a file that needs other attributes.
final class ArchiveItem: Sendable {
    let form: EntryForm

    /// The path of the source, as it appears in the report.
    let source: String

    /// The place of the source on this machine; nil if the source is on the server.
    let place: SourcePlace?

    /// The entry, with its path on the receiving side.
    let entry: SyncEntry

    /// The entry that the receiving side had at that path before; nil if the path was free.
    let there: SyncEntry?

    /// Whether the caller named this entry itself, and not a folder that contains it.
    let isNamed: Bool

    init(
        _ form: EntryForm, _ source: String, at place: SourcePlace? = nil, _ entry: SyncEntry, there: SyncEntry?,
        isNamed: Bool = false
    ) {
        (self.form, self.source, self.place, self.entry) = (form, source, place, entry)
        (self.there, self.isNamed) = (there, isNamed)
    }

    var path: RelativePath { entry.path }

    /// Whether it is a folder that did not exist on the receiving side.
    var isNewFolder: Bool { form == .folder && !(there?.isFolder ?? false) }
}

/// The outcome of one item.
struct ArchiveOutcome: Sendable {
    /// `committed` if it was created, `alreadyStored` if it existed; otherwise the failure.
    var result: ResultCode

    /// The path where it is, or would be.
    var path: RelativePath

    /// A sentence for the user; empty if there is nothing to say.
    var message = ""

    /// Whether it existed already and got other attributes.
    var hasNewAttributes = false

    /// Whether the receiving side was asked about the entry. If not, an entry that existed already is not known to be
    /// durable.
    var isAsked = true
}
