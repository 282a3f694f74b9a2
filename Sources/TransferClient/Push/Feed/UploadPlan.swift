/// What a push would send, found out without a server: directories are opened up and the selection is applied, but no file is
/// opened.
public struct UploadPlan: Sequence, Sendable {
    /// What would come of one file.
    public enum Step: Sendable {
        /// It would be sent.
        ///
        /// - source: as in its report.
        /// - destination: the path it would be stored under, the server's folder included.
        /// - size: bytes, where they are known.
        /// - isFile: whether the source is a path.
        case upload(source: String, destination: String, size: UInt64?, isFile: Bool)
        /// Something beside files would be sent, as `ClientConfiguration.archives` has it.
        case entry(form: EntryForm, source: String, destination: String)
        /// It could not be sent; the report says why.
        case failure(UploadReport)
    }

    private let feed: UploadFeed
    private let archive: ArchiveNotes?
    private let folder: String

    /// Nothing is looked at before the plan is iterated, which can be done once.
    ///
    /// - Parameters:
    ///   - folder: of the server; may be empty.
    ///   - selection: which files are sent.
    ///   - archives: whether folders and links are sent, too; they come behind the files.
    ///   - replaces: whether files on the server give way. Then two files of the push must not have one name there.
    public init(
        _ uploads: some Sequence<Upload> & Sendable, folder: String = "", selection: Selection = Selection(),
        archives: Bool = false, replaces: Bool = false
    ) {
        self.folder = folder
        archive = archives ? ArchiveNotes(keepsEmptyFolders: selection.takesEverything) : nil
        feed = UploadFeed(
            uploads, folder: folder, selection: selection, replaces: replaces, archive: archive)
    }

    /// Blocks while it looks.
    public func makeIterator() -> AnyIterator<Step> {
        var others: IndexingIterator<[ArchiveItem]>?
        return AnyIterator {
            switch feed.next() {
            case nil:
                var items = others ?? (archive?.found ?? []).makeIterator()
                defer { others = items }
                return items.next().map { item in
                    let path = item.path.string
                    return .entry(
                        form: item.form, source: item.source,
                        destination: folder.isEmpty ? path : "\(folder)/\(path)")
                }
            case .report(let report): return .failure(report)
            case .upload(let upload):
                return .upload(
                    source: upload.label, destination: upload.destination, size: upload.content.sizeNow,
                    isFile: upload.isFile)
            }
        }
    }
}
