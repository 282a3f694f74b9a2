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
        /// It could not be sent; the report says why.
        case failure(UploadReport)
    }

    private let feed: UploadFeed

    /// Nothing is looked at before the plan is iterated, which can be done once.
    ///
    /// - Parameters:
    ///   - folder: of the server; may be empty.
    ///   - selection: which files are sent.
    public init(
        _ uploads: some Sequence<Upload> & Sendable, folder: String = "", selection: Selection = Selection()
    ) {
        feed = UploadFeed(uploads, folder: folder, selection: selection)
    }

    /// Blocks while it looks.
    public func makeIterator() -> AnyIterator<Step> {
        AnyIterator {
            switch feed.next() {
            case nil: nil
            case .report(let report): .failure(report)
            case .upload(let upload):
                .upload(
                    source: upload.label, destination: upload.destination, size: upload.content.sizeNow,
                    isFile: upload.isFile)
            }
        }
    }
}
