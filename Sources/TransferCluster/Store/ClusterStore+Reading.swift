package import TransferModel
package import TransferPorts
import TransferSystem

extension ClusterStore {
    package func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes {
        guard let path else { return NodeRow.topAttributes }
        guard let node = try node(at: path), node.target == nil else { throw .notFound(path) }
        return node.attributes
    }

    package func whole(at path: RelativePath) throws(Failure) -> WholeEntry {
        guard let node = try node(at: path) else { throw .notFound(path) }
        return node.whole(at: path)
    }

    package func object(at path: RelativePath) throws(Failure) -> FoundObject? { try node(at: path)?.found }

    package func isDirectory(at path: RelativePath) throws(Failure) -> Bool {
        guard let node = try node(at: path) else { throw .notFound(path) }
        return node.isFolder
    }

    package func list(_ path: RelativePath?) throws(Failure) -> any StoredListing {
        guard let path else { return ClusterListing(self, NodeRow.top, nil) }
        guard let node = try node(at: path), node.target == nil else { throw .notFound(path) }
        guard node.isFolder else { throw Failure(.wrongForm, "\(path) is a file, not a folder.") }
        return ClusterListing(self, node.number, path)
    }

    package func reader() -> any TreeReader { ClusterReader(self) }

    package func trash(below folder: RelativePath?) throws(Failure) -> [TrashBatch] {
        guard let trash = try node(at: .trashFolder) else { return [] }
        var (batches, last): ([TrashBatch], PathKey?) = ([], nil)
        while true {
            let page = try ask { () throws(LedgerError) in
                try ledger.list(trash.number, after: last, limit: ClusterListing.page)
            }
            batches += page.compactMap { TrashBatch($0.name.string) }
            last = page.last?.name
            guard page.count == ClusterListing.page else { break }
        }
        guard let folder else { return batches }
        var paths = LedgerPaths()
        let indices = batches.map { paths.add(.trash($0, folder)) }
        let found = try ask { () throws(LedgerError) in try ledger.look(paths) }
        return zip(batches, indices).filter { found[$0.1]?.isFolder == true }.map(\.0)
    }
}

/// Lists a folder page by page, in the order of the bytes of the names.
private final class ClusterListing: StoredListing {
    /// Nodes that one query returns.
    static let page = 1000

    private let store: ClusterStore
    private let number: UInt64
    private let folder: RelativePath?
    private var last: PathKey?
    private var page: ArraySlice<NodeRow> = []
    private var isLast = false
    private(set) var unlisted: UInt64 = 0

    init(_ store: ClusterStore, _ number: UInt64, _ folder: RelativePath?) {
        (self.store, self.number, self.folder) = (store, number, folder)
    }

    func next(_ count: Int) throws(Failure) -> [StoredEntry] {
        try next(count, withLinks: false) { path, node in StoredEntry(path: path, attributes: node.attributes) }
    }

    func nextWhole(_ count: Int) throws(Failure) -> [WholeEntry] {
        try next(count, withLinks: true) { path, node in node.whole(at: path) }
    }

    func forEach(
        _ count: Int, _ body: (_ name: String, _ attributes: StoredAttributes) -> Void
    ) throws(Failure) -> Int {
        let found = try next(count, withLinks: false) { _, node in (node.name.string, node.attributes) }
        for (name, attributes) in found { body(name, attributes) }
        return found.count
    }

    private func next<T>(
        _ count: Int, withLinks: Bool, _ make: (RelativePath, NodeRow) -> T
    ) throws(Failure) -> [T] {
        var entries: [T] = []
        while entries.count < count, let node = try nextNode() {
            let name = node.name.string
            guard RelativePath.accepts(name, in: folder), let path = RelativePath.child(name, of: folder),
                withLinks || node.target == nil
            else { continue }
            entries.append(make(path, node))
        }
        return entries
    }

    private func nextNode() throws(Failure) -> NodeRow? {
        if page.isEmpty, !isLast {
            let found = try store.ask { () throws(LedgerError) in
                try store.ledger.list(number, after: last, limit: Self.page)
            }
            (page, last, isLast) = (found[...], found.last?.name ?? last, found.count < Self.page)
        }
        return page.popFirst()
    }
}

private final class ClusterReader: TreeReader {
    private let store: ClusterStore

    init(_ store: ClusterStore) { self.store = store }

    func attributes(at path: RelativePath) -> StoredAttributes? {
        guard let node = try? store.node(at: path), node.target == nil else { return nil }
        return node.attributes
    }

    func open(_ path: RelativePath, as name: RelativePath) throws(Failure) -> any ReadableContent {
        for _ in 0..<ClusterStore.mostAttempts {
            guard let node = try store.node(at: path), node.target == nil else { throw .notFound(name) }
            guard let file = node.file else { throw Failure(.wrongForm, "\(name) is a folder, not a file.") }
            if let extents = try store.extents(of: node) { return ClusterContent(node, file, extents, in: store) }
        }
        throw Failure(.busy, "\(name) is replaced all the time; try again.")
    }
}

extension ClusterStore {
    /// Where the bytes of a file are, in order; nil if the file was removed or replaced since it was found.
    func extents(of node: NodeRow) throws(Failure) -> [Extent]? {
        guard let file = node.file, file.size > 0 else { return [] }
        switch file.content {
        case .whole(let object, let start): return [Extent(0..<file.size, in: object, from: start)]
        case .extents(let filled, _):
            let extents = try ask { () throws(LedgerError) in try ledger.extents(of: node.number) }
            // Without its extents, a file would be read as zeros.
            return extents.reduce(0) { $0.addingClamped($1.count) } == filled ? extents : nil
        }
    }
}

/// The open content of a file. Its objects stay for an hour after the file is removed, so a reader that takes longer
/// than that may fail. If the sweeper has moved the bytes to other objects, the reader finds them there.
final class ClusterContent: ScrubContent {
    let attributes: StoredAttributes
    private let node: NodeRow
    private let file: FileRow
    private var extents: [Extent]
    private let store: ClusterStore
    private var readsAll = false
    /// Bytes that were read ahead, and their place.
    private var ahead: Ahead?

    private final class Ahead {
        let start: UInt64
        let bytes: UnsafeMutableRawBufferPointer

        init(start: UInt64, count: Int) {
            self.start = start
            bytes = .allocate(byteCount: count, alignment: 16)
        }

        deinit { bytes.deallocate() }

        /// The bytes from an offset of the file on; nil if the offset is not in these bytes.
        func bytes(from offset: UInt64) -> UnsafeRawBufferPointer? {
            guard offset >= start, offset - start < UInt64(bytes.count) else { return nil }
            return UnsafeRawBufferPointer(rebasing: bytes[Int(offset - start)...])
        }
    }

    /// Bytes that are read ahead, if all content is read in order: long enough that the bytes of a request take
    /// much more time than the request (GET of 4 MiB at 100 MB/s takes 40 ms).
    private static let mostAhead = 4 << 20

    init(_ node: NodeRow, _ file: FileRow, _ extents: [Extent], in store: ClusterStore) {
        (self.node, self.file, self.extents, self.store) = (node, file, extents, store)
        attributes = node.attributes
    }

    var changed: Int64 { attributes.version.touch }

    /// Always true: content never changes, other content is another file.
    let isUnchanged = true

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
        guard offset < file.size else { return 0 }
        let end = min(file.size, offset.addingClamped(UInt64(buffer.count)))
        let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(end - offset)])
        if readsAll, space.count < Self.mostAhead {
            try readAhead(into: space, at: offset)
        } else {
            try fill(space, at: offset)
        }
        return space.count
    }

    private func readAhead(into space: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) {
        var filled = 0
        while filled < space.count {
            let position = offset + UInt64(filled)
            guard let found = ahead?.bytes(from: position) else {
                let next = Ahead(start: position, count: Int(min(UInt64(Self.mostAhead), file.size - position)))
                try fill(next.bytes, at: position)
                ahead = next
                continue
            }
            let piece = UnsafeRawBufferPointer(rebasing: found.prefix(space.count - filled))
            UnsafeMutableRawBufferPointer(rebasing: space[filled...]).copyMemory(from: piece)
            filled += piece.count
        }
    }

    private func fill(_ space: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) {
        do throws(Failure) {
            try readExtents(into: space, at: offset)
        } catch {
            guard error.code == .contentLost, try findMovedBytes() else { throw error }
            try readExtents(into: space, at: offset)
        }
    }

    /// Looks for the bytes once more.
    ///
    /// - Returns: false if they are where they were, or the file is gone.
    private func findMovedBytes() throws(Failure) -> Bool {
        let found = try store.ask { () throws(LedgerError) in try store.ledger.nodes([node.number])[0] }
        guard let found, let moved = try store.extents(of: found), moved != extents else { return false }
        extents = moved
        return true
    }

    private func readExtents(into space: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) {
        let wanted = offset..<offset + UInt64(space.count)
        if filled != nil { space.initializeMemory(as: UInt8.self, repeating: 0) }
        for extent in extents.lazy.compactMap({ $0.clamped(to: wanted) }) {
            // Trap: the extent was clamped to the buffer.
            let place = UnsafeMutableRawBufferPointer(
                rebasing: space[Int(extent.range.lowerBound - offset)..<Int(extent.range.upperBound - offset)])
            try store.objects.read(extent.object, from: extent.start, into: place)
        }
    }

    var filled: UInt64? {
        guard case .extents(let filled, _) = file.content, filled < file.size else { return nil }
        return filled
    }

    func run(at offset: UInt64) -> FileHoles.Run {
        guard filled != nil, offset < file.size else { return .data }
        if let extent = extents.first(where: { $0.range.contains(offset) }) {
            return FileHoles.Run(count: extent.range.upperBound - offset, isHole: false)
        }
        let next = extents.first { $0.range.lowerBound > offset }?.range.lowerBound ?? file.size
        return FileHoles.Run(count: next - offset, isHole: true)
    }

    func expectAll() { readsAll = true }

    func share(with staged: any StagedContent) throws(Failure) -> Bool {
        guard let staged = staged as? ClusterStaged else { return false }
        staged.share(node, extents)
        return true
    }

    /// Does nothing: content is in the bucket before its file is made.
    func sync() throws(Failure) {}

    func dropMemory() { ahead = nil }
}
