import TransferCatalog
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore

/// The answer to a `list`: goes through a folder page by page. Belongs to one task at a time.
final class FolderListing {
    let request: ListRequest
    private let listing: StoredListing?
    private let known: KnownUploads
    private var waiting: ArraySlice<ListedEntry> = []

    /// Entries that were sent.
    private(set) var count: UInt64 = 0

    /// Entries looked at together: each page is one turn at the catalog.
    private static let pageSize = 128

    /// - Parameter listing: nothing for a folder that is not there yet.
    init(_ request: ListRequest, _ listing: StoredListing?, _ known: KnownUploads) {
        (self.request, self.listing, self.known) = (request, listing, known)
    }

    /// The answer to a question about one path.
    init(_ request: ListRequest, about entry: ListedEntry, _ known: KnownUploads) {
        (self.request, listing, self.known) = (request, nil, known)
        waiting = [entry]
    }

    /// Fills the chunk as far as it can.
    ///
    /// - Returns: whether that was all.
    func fill(_ chunk: FrameChunk) throws(StoreError) -> Bool {
        while chunk.takesMessage {
            if waiting.isEmpty { waiting = try nextPage()[...] }
            guard !waiting.isEmpty else { return true }
            chunk.append(.entries(Entries(id: request.id, takeFrame())))
        }
        return false
    }

    private func takeFrame() -> [ListedEntry] {
        var room = Entries.room
        let frame = waiting.prefix { entry in
            room -= entry.encodedSize
            return room >= 0
        }
        waiting = waiting.dropFirst(frame.count)
        count += UInt64(frame.count)
        return Array(frame)
    }

    private func nextPage() throws(StoreError) -> [ListedEntry] {
        guard let page = try listing?.next(Self.pageSize), !page.isEmpty else { return [] }
        let details = request.wantsDetails ? known.details(of: page.map { ($0.path, $0.attributes) }) : []
        return page.enumerated().map { index, entry in
            ListedEntry(
                String(entry.path.name), entry.attributes, details.indices.contains(index) ? details[index] : nil)
        }
    }
}

extension ListedEntry {
    /// - Parameter known: its entry in the catalog.
    init(_ name: String, _ attributes: StoredAttributes, _ known: CatalogEntry?) {
        self.init(
            attributes.isDirectory ? .directory : .file, name: name, size: attributes.size,
            modified: attributes.modified, permissions: attributes.permissions, version: attributes.fileVersion,
            kind: known?.kind ?? .file, digest: known?.digest,
            stored: known.map { $0.committed / 1_000_000 })
    }
}

extension KnownUploads {
    /// What the catalog knows of files as they are now: an entry counts only for the file that was acknowledged.
    func details(of files: [(path: RelativePath, attributes: StoredAttributes)]) -> [CatalogEntry?] {
        zip(files, entries(at: files.map(\.path.string))).map { file, entries in
            entries.last { $0.version == file.attributes.version }
        }
    }
}
