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
    /// Parts of the trash that are still to be looked at.
    private var batches: ArraySlice<TrashBatch> = []
    private var waiting: ArraySlice<ListedEntry> = []

    /// Entries that were sent.
    private(set) var count: UInt64 = 0

    /// What was left out because no path can have its name.
    var unlisted: UInt64 { listing?.unlisted ?? 0 }

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

    /// The answer to a question about the trash itself.
    init(_ request: ListRequest, _ batches: [TrashBatch], _ known: KnownUploads) {
        (self.request, listing, self.known) = (request, nil, known)
        self.batches = batches[...]
    }

    /// Fills the chunk as far as it can.
    ///
    /// - Returns: whether that was all.
    func fill(_ chunk: FrameChunk) throws(Failure) -> Bool {
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

    private func nextPage() throws(Failure) -> [ListedEntry] {
        if !batches.isEmpty {
            defer { batches = batches.dropFirst(Self.pageSize) }
            return batches.prefix(Self.pageSize).map { ListedEntry($0) }
        }
        guard !request.wantsAll else { return try nextWholePage() }
        guard let page = try listing?.next(Self.pageSize), !page.isEmpty else { return [] }
        let details = request.wantsDetails ? known.details(of: page.map { ($0.path, $0.attributes) }) : []
        return page.enumerated().map { index, entry in
            ListedEntry(
                String(entry.path.name), entry.attributes, details.indices.contains(index) ? details[index] : nil)
        }
    }
}

extension FolderListing {
    private func nextWholePage() throws(Failure) -> [ListedEntry] {
        guard let page = try listing?.nextWhole(Self.pageSize), !page.isEmpty else { return [] }
        let details = request.wantsDetails ? known.details(of: page.map { ($0.path, $0.attributes) }) : []
        return page.enumerated().map { index, entry in
            ListedEntry(entry, details.indices.contains(index) ? details[index] : nil)
        }
    }
}

extension ListedEntry {
    /// A part of the trash, as a folder. Its time is in its name.
    init(_ batch: TrashBatch) {
        self.init(
            .directory, name: batch.name, size: 0, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o700)
    }

    /// - Parameter known: its entry in the catalog.
    init(_ entry: WholeEntry, _ known: CatalogEntry?) {
        self.init(String(entry.path.name), entry.attributes, known)
        if entry.target != nil { form = .symbolicLink }
        extras = Extras(
            names: entry.names, attributes: entry.extra, target: entry.target ?? [], isPartial: entry.isPartial)
    }

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
