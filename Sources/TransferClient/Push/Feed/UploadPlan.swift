/// What a push would send, found without a server: directories are read and the selection is applied, but no file is
/// opened.
public struct UploadPlan: Sequence, Sendable {
    /// What would happen to one source.
    public enum Step: Sendable {
        /// The source would be sent.
        ///
        /// - source: the source as the report would name it.
        /// - destination: the path that it would be stored under, including the server's folder.
        /// - size: the bytes, if known.
        /// - isFile: whether the source is a path.
        case upload(source: String, destination: String, size: UInt64?, isFile: Bool)
        /// A folder, a link or a further name of a file would be sent, because `ClientConfiguration.archives` is set.
        case entry(form: EntryForm, source: String, destination: String)
        /// The source could not be sent; the report says why.
        case failure(UploadReport)
    }

    private let feed: UploadFeed
    private let archive: ArchiveNotes?
    private let folder: String

    /// Makes a plan. It reads nothing before it is iterated, which is possible once.
    ///
    /// - Parameters:
    ///   - folder: the server's folder; may be empty.
    ///   - selection: which files are sent.
    ///   - archives: whether folders and links are included, after the files.
    ///   - replaces: whether files on the server are replaced. Then two files of the push must not have the same path
    ///     on the server.
    public init(
        _ uploads: some Sequence<Upload> & Sendable, folder: String = "", selection: Selection = Selection(),
        archives: Bool = false, replaces: Bool = false
    ) {
        self.folder = folder
        archive = archives ? ArchiveNotes(keepsEmptyFolders: selection.takesEverything) : nil
        feed = UploadFeed(
            uploads, folder: folder, selection: selection, replaces: replaces, archive: archive)
    }

    /// Makes the iterator, which blocks while it reads directories.
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
