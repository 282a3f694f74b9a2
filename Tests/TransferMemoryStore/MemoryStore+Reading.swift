import TransferCodec
package import TransferModel
package import TransferPorts
import TransferSystem

extension MemoryStore {
    package func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes {
        guard let node = read({ $0.node(at: path) }), node.target == nil else { throw .notFound(path) }
        return node.attributes
    }

    package func whole(at path: RelativePath) throws(Failure) -> WholeEntry {
        guard let node = read({ $0.node(at: path) }) else { throw .notFound(path) }
        return node.whole(at: path)
    }

    package func object(at path: RelativePath) throws(Failure) -> FoundObject? { read { $0.node(at: path)?.found } }

    package func isDirectory(at path: RelativePath) throws(Failure) -> Bool {
        guard let node = read({ $0.node(at: path) }) else { throw .notFound(path) }
        return node.isFolder
    }

    package func list(_ path: RelativePath?) throws(Failure) -> any StoredListing {
        guard let node = read({ $0.node(at: path) }), node.target == nil else { throw .notFound(path) }
        guard node.isFolder else {
            throw Failure(.wrongForm, "\(path?.description ?? "It") is a file, not a folder.")
        }
        return MemoryListing(self, path)
    }

    package func reader() -> any TreeReader { MemoryReader(self) }

    package func trash(below folder: RelativePath?) throws(Failure) -> [TrashBatch] {
        read { tree in
            guard let trash = tree.node(at: .trashFolder) else { return [] }
            let batches = tree.names(in: trash).compactMap { TrashBatch($0.name) }
            guard let folder else { return batches }
            return batches.filter { tree.node(at: .trash($0, folder))?.isFolder == true }
        }
    }
}

/// Lists a folder by the names that it had when the listing was opened.
private final class MemoryListing: StoredListing {
    private let store: MemoryStore
    private let folder: RelativePath?
    private var names: ArraySlice<String>
    package let unlisted: UInt64 = 0

    init(_ store: MemoryStore, _ folder: RelativePath?) {
        (self.store, self.folder) = (store, folder)
        names = store.read { tree in tree.node(at: folder).map { tree.names(in: $0).map(\.name) } ?? [] }[...]
    }

    package func next(_ count: Int) throws(Failure) -> [StoredEntry] {
        next(count, withLinks: false) { path, _, node in StoredEntry(path: path, attributes: node.attributes) }
    }

    package func nextWhole(_ count: Int) throws(Failure) -> [WholeEntry] {
        next(count, withLinks: true) { path, _, node in node.whole(at: path) }
    }

    package func forEach(
        _ count: Int, _ body: (_ name: String, _ attributes: StoredAttributes) -> Void
    ) throws(Failure) -> Int {
        let found = next(count, withLinks: false) { _, name, node in (name, node.attributes) }
        for (name, attributes) in found { body(name, attributes) }
        return found.count
    }

    private func next<T>(_ count: Int, withLinks: Bool, _ make: (RelativePath, String, MemoryTree.Node) -> T) -> [T] {
        store.read { tree in
            var entries: [T] = []
            while entries.count < count, let name = names.popFirst() {
                guard RelativePath.accepts(name, in: folder), let path = RelativePath.child(name, of: folder),
                    let node = tree.node(at: path), withLinks || node.target == nil
                else { continue }
                entries.append(make(path, name, node))
            }
            return entries
        }
    }
}

private final class MemoryReader: TreeReader {
    private let store: MemoryStore

    init(_ store: MemoryStore) { self.store = store }

    package func attributes(at path: RelativePath) -> StoredAttributes? {
        store.read { $0.node(at: path) }.flatMap { $0.target == nil ? $0.attributes : nil }
    }

    package func open(_ path: RelativePath, as name: RelativePath) throws(Failure) -> any ReadableContent {
        guard let node = store.read({ $0.node(at: path) }), node.target == nil else { throw .notFound(name) }
        guard let content = MemoryContent(node, in: store.medium) else {
            throw Failure(.wrongForm, "\(name) is a folder, not a file.")
        }
        return content
    }
}

/// The content of a file at the moment when it was opened.
final class MemoryContent: ScrubContent {
    package let attributes: StoredAttributes
    private let medium: MemoryMedium
    private let bytes: PagedBytes

    /// - Returns: nil if the node is not a file.
    init?(_ node: MemoryTree.Node, in medium: MemoryMedium) {
        guard let bytes = node.bytes else { return nil }
        (attributes, self.bytes, self.medium) = (node.attributes, bytes, medium)
    }

    package var changed: Int64 { attributes.version.touch }

    package var isUnchanged: Bool {
        let now = medium.state.withLock { $0.tree.node(attributes.version.object)?.version }
        return now?.hasSameContent(as: attributes.version) ?? true
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
        bytes.read(into: buffer, at: offset)
    }

    package var filled: UInt64? { bytes.filled }

    package func run(at offset: UInt64) -> FileHoles.Run { bytes.run(at: offset) }

    package func expectAll() {}

    package func share(with staged: any StagedContent) throws(Failure) -> Bool {
        guard let staged = staged as? MemoryStaged else { return false }
        staged.part.change { $0 = bytes }
        return true
    }

    package func sync() throws(Failure) {}

    package func dropMemory() {}

    /// - Returns: nil if `progress` has returned false.
    fileprivate func digests(
        _ functions: [DigestFunction], progress: (Int) -> Bool
    ) -> [Digest]? {
        for _ in functions {
            guard progress(Int(clamping: bytes.size)) else { return nil }
        }
        return functions.map(bytes.digest)
    }
}

extension MemoryStore {
    package func reread(_ queries: [ContentQuery], progress: (Int) -> Bool) throws(Failure) -> [ContentReading] {
        queries.map { query in
            guard let node = read({ $0.node(at: query.path) }), let content = MemoryContent(node, in: medium) else {
                return .changed
            }
            return content.digests(query.functions, progress: progress).map { .read(node.version, $0) } ?? .left
        }
    }
}

// MARK: Scrub

/// Reads the files of a store in memory, with or without a running server.
package final class MemoryScrub: ScrubStore {
    private struct Place: ScrubFile {
        let path: RelativePath
        let scrub: MemoryScrub

        func open() -> ScrubOpening { scrub.open(path) }
    }

    private final class Walk: ScrubWalk {
        private let places: Locked<[Place]>

        init(_ places: [Place]) { self.places = Locked(places) }

        func next() -> ScrubEntry? { places.withLock { $0.popLast() }.map { .file($0) } }
    }

    /// Keeps servers from using the medium until this object is released.
    private final class Lock: ScrubLock {
        private let medium: MemoryMedium

        init(_ medium: MemoryMedium) { self.medium = medium }

        deinit { medium.state.withLock { $0.isServed = false } }
    }

    private let medium: MemoryMedium

    package init(_ medium: MemoryMedium) { self.medium = medium }

    package func walk() -> any ScrubWalk {
        var paths: [RelativePath] = []
        medium.state.withLock { state in
            state.tree.forEachFile(below: nil) { path, _ in paths.append(path) }
        }
        return Walk(paths.map { Place(path: $0, scrub: self) })
    }

    package func open(_ path: RelativePath) -> ScrubOpening {
        guard let node = medium.state.withLock({ $0.tree.node(at: path) }) else { return .absent }
        return MemoryContent(node, in: medium).map { .file($0) } ?? .other
    }

    package func object(at path: RelativePath) throws(Failure) -> FoundObject? {
        medium.state.withLock { $0.tree.node(at: path)?.found }
    }

    package func syncNames() throws(Failure) {}

    package func unfinished() throws(Failure) -> UnfinishedContent { medium.unfinished }

    package func isServed() -> Bool { medium.state.withLock { $0.isServed } }

    package func lock() throws(Failure) -> any ScrubLock {
        let isFree = medium.state.withLock { state in
            defer { state.isServed = true }
            return !state.isServed
        }
        guard isFree else { throw Failure(.busy, "A server is storing in this memory.") }
        return Lock(medium)
    }
}
