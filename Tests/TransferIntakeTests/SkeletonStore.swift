import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// The smallest possible store, written from docs/design/ports.md: it stores whole files. It accepts neither uploads in
/// parts nor growing uploads, rereads nothing, keeps no older version of a file, and changes no names. Start another
/// store with a copy of it.
///
/// One lock makes each publication and each removal atomic.
final class SkeletonStore: ServerStore {
    struct Entry: Sendable {
        /// The content of a file; nil for a folder.
        let bytes: [UInt8]?
        let version: ContentVersion
        let modified: Timestamp
    }

    struct State: Sendable {
        var entries: [RelativePath: Entry] = [:]
        /// Number of the last change. Objects, revisions and touches take their numbers from it, so that no number is
        /// used twice.
        var last: Int64 = 0
        var overwrites = Overwrites()
        var commands = CommandFiles()
    }

    private let state = Locked(State())

    /// The complete state, for a store that can undo a publication (`Settlement`).
    var snapshot: State {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    // MARK: Abilities

    let abilities = StoreAbilities(writesAnywhere: false, replacesNothing: false)
    let parts: (any PartStore)? = nil
    let appends: (any AppendStore)? = nil
    let rereads: (any RereadStore)? = nil
    let durability = Durability.none
    let isInDoubt = false
    let identity: [UInt8]? = nil
    let isNew = true
    func unlock() {}

    // MARK: Storing

    func admit(_ path: RelativePath, size: UInt64?, conflict: ConflictPolicy) throws(Failure) -> PublicationOutcome? {
        guard entry(path)?.bytes == nil, exists(path) else { return nil }
        throw .isDirectory(path)
    }

    func checkRoom() throws(Failure) {}

    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> SkeletonContent { SkeletonContent(SpaceHold(nil, client: quota)) }

    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        PublishedBatch(
            outcomes: batch.map { publication in
                defer { publication.content.discard() }
                return Result { () throws(Failure) in try publish(publication, mayReplace) }
            })
    }

    private func publish(
        _ publication: Publication, _ mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) throws(Failure) -> PublicationOutcome {
        guard let content = publication.content as? SkeletonContent else {
            throw Failure(.storageFailed, "The content was staged in another store.")
        }
        let (path, bytes) = (publication.path, content.bytes)
        return try state.withLock { (state) throws(Failure) in
            if let sender = publication.sender { state.overwrites.announce(path, sender.connection) }
            let found = state.entries[path]
            try publication.condition?.check(found?.attributes)
            if let found {
                guard let old = found.bytes else { throw .isDirectory(path) }
                if old == bytes, publication.mayCompare?(path, found.version) ?? true {
                    state.commands.add(found.version, of: publication.command, at: path)
                    return .alreadyStored(path, found.version)
                }
                try state.overwrites.check(publication)
                try publication.compared?.check(found.version, isFolder: false, hasOtherNames: false, path)
                try publication.checkVersion(found.version)
                _ = try state.commands.check(found.version, hasOtherNames: false, publication.command, path)
                guard try mayReplace?(path, found.version) ?? true else { throw .mayNotReplace(path) }
            }
            try state.makeFolder(path.parent)
            let file = state.newEntry(bytes, modified: publication.modified)
            state.entries[path] = file
            state.commands.add(file.version, of: publication.command, at: path)
            content.published(replacing: found.map(\.version.size))
            return .committed(path, file.version)
        }
    }

    // MARK: Stored files

    fileprivate func entry(_ path: RelativePath) -> Entry? { state.withLock { $0.entries[path] } }

    func version(at path: RelativePath) -> ContentVersion? {
        entry(path).flatMap { $0.bytes == nil ? nil : $0.version }
    }

    func versions(at paths: [RelativePath]) -> [ContentVersion?] { paths.map(version) }

    func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        names.map { RelativePath.child($0, of: folder).flatMap(version) }
    }

    func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool { false }

    func exists(_ path: RelativePath) -> Bool { entry(path) != nil }

    func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        guard let folder, folder != top, !exists(folder) else { return [] }
        return [folder] + missingFolders(folder.parent, below: top)
    }

    func mailFiles() -> [RelativePath] {
        state.withLock { $0.entries.keys.filter { $0.parent == .mailFolder } }
    }

    func removeMail(_ paths: [RelativePath]) {
        state.withLock { state in
            for path in paths { state.entries[path] = nil }
        }
    }

    // MARK: Reading

    func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes {
        guard let path else { return .folder }
        guard let entry = entry(path) else { throw .notFound(path) }
        return entry.attributes
    }

    func whole(at path: RelativePath) throws(Failure) -> WholeEntry {
        let attributes = try attributes(at: path)
        return WholeEntry(
            path, attributes, object: FileObject(volume: 0, number: attributes.version.object),
            extra: ExtraAttributes())
    }

    func object(at path: RelativePath) throws(Failure) -> FoundObject? {
        entry(path).map { FoundObject($0.bytes == nil ? .folder : .file, $0.version) }
    }

    func isDirectory(at path: RelativePath) throws(Failure) -> Bool { try attributes(at: path).isDirectory }

    func list(_ path: RelativePath?) throws(Failure) -> any StoredListing {
        guard try attributes(at: path).isDirectory else {
            throw Failure(.wrongForm, "\(path?.string ?? "It") is a file, not a folder.")
        }
        let paths = state.withLock { state in state.entries.keys.filter { $0.parent == path && !$0.isOfServer } }
        return Listing(self, paths.sorted { $0.string < $1.string })
    }

    func reader() -> any TreeReader { Reader(self) }

    func trash(below folder: RelativePath?) throws(Failure) -> [TrashBatch] { [] }

    // MARK: Changing

    func changes(for command: StoringCommand?) -> any TreeEditing { NoChanges() }

    func remover() -> any TreeRemover { Remover(self) }

    func makeFolder(_ path: RelativePath) throws(Failure) {
        try state.withLock { (state) throws(Failure) in try state.makeFolder(path) }
    }

    func confirmNames(of paths: [RelativePath]) -> Bool { true }

    func isDoubted(_ paths: [RelativePath]) -> Bool { false }

    func freeable(_ batch: TrashBatch) -> FreeableRoom { FreeableRoom() }

    func tidyTrash(_ folders: Set<RelativePath>) {}

    fileprivate func remove(_ path: RelativePath, of version: FileVersion?) throws(Failure) -> RemovedFile {
        try state.withLock { (state) throws(Failure) in
            guard let found = state.entries[path] else { throw .notFound(path) }
            guard found.bytes != nil else { throw Failure(.wrongForm, "This store removes files, and no folders.") }
            if let version, found.version.told != version { throw .otherVersion(path) }
            state.entries[path] = nil
            return RemovedFile(path: path, version: found.version, isLast: true)
        }
    }

    // MARK: Room

    let room: StoreRoom? = nil
    let isReadOnly = false
    let quota: (used: UInt64, limit: UInt64)? = nil
    let syncDurations: DurationHistogram? = nil
    let isSerial = false
    func change(_ limits: SpaceLimits) -> SpaceLimits { SpaceLimits() }
    func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool) {}
}

extension SkeletonStore.State {
    mutating func newEntry(_ bytes: [UInt8]?, modified: Timestamp? = nil) -> SkeletonStore.Entry {
        last += 1
        let version = ContentVersion(
            object: UInt64(last), revision: last, touch: last, size: UInt64(bytes?.count ?? 0))
        return SkeletonStore.Entry(bytes: bytes, version: version, modified: modified ?? .now)
    }

    /// Makes a folder and its missing ancestors.
    mutating func makeFolder(_ path: RelativePath?) throws(Failure) {
        guard let path else { return }
        if let found = entries[path] {
            guard found.bytes == nil else { throw .taken(path) }
            return
        }
        try makeFolder(path.parent)
        entries[path] = newEntry(nil)
    }
}

extension SkeletonStore.Entry {
    var attributes: StoredAttributes {
        StoredAttributes(
            isDirectory: bytes == nil, size: version.size, modified: modified,
            permissions: bytes == nil ? 0o755 : 0o644, version: version, hasGivenTime: false)
    }
}

extension StoredAttributes {
    /// The top of the store, which exists from the beginning.
    fileprivate static let folder = StoredAttributes(
        isDirectory: true, size: 0, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o755,
        version: ContentVersion(object: 0, revision: 0, touch: 0, size: 0), hasGivenTime: false)
}

extension RelativePath {
    /// Whether the path is the server's own folder, at the top of the store.
    fileprivate var isOfServer: Bool { string == Self.reservedName }
}

// MARK: Returned values

/// The bytes of one upload. Digests and surveys serve uploads that are resumed, which this store does not support.
final class SkeletonContent: StagedContent {
    struct Survey: ContentSurvey {
        mutating func step(threads: Int) throws(Failure) -> [SurveyedBlock]? { nil }
    }

    private let content = Locked<[UInt8]>([])
    private let replaced = Locked(false)
    /// Space held of the client's quota. It is released with the content.
    private let hold: SpaceHold?
    let isNew = true

    init(_ hold: SpaceHold?) { self.hold = hold }

    var bytes: [UInt8] { content.withLock { $0 } }
    var hasReplaced: Bool { replaced.withLock { $0 } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        try hold?.grow(to: offset + UInt64(bytes.count))
        let start = Int(offset)
        content.withLock { content in
            content.grow(to: start + bytes.count)
            content.replaceSubrange(start..<start + bytes.count, with: bytes)
        }
    }

    func clear(_ range: Range<UInt64>) throws(Failure) {
        try hold?.grow(to: range.upperBound)
        content.withLock { content in
            content.grow(to: Int(range.upperBound))
            for index in range { content[Int(index)] = 0 }
        }
    }

    func trim(to size: UInt64) throws(Failure) { content.withLock { $0.removeLast($0.count - Int(size)) } }

    func published(replacing old: UInt64?) {
        hold?.publish(UInt64(bytes.count), replacing: old ?? 0)
        replaced.withLock { $0 = old != nil }
    }

    func discard() { hold?.giveBack() }

    func giveBackRoom() {}

    func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> Survey { Survey() }

    func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? { nil }
}

extension [UInt8] {
    fileprivate mutating func grow(to count: Int) {
        if self.count < count { self += [UInt8](repeating: 0, count: count - self.count) }
    }
}

extension SkeletonStore {
    private final class Listing: StoredListing {
        private let store: SkeletonStore
        private var paths: ArraySlice<RelativePath>
        let unlisted: UInt64 = 0

        init(_ store: SkeletonStore, _ paths: [RelativePath]) { (self.store, self.paths) = (store, paths[...]) }

        func next(_ count: Int) throws(Failure) -> [StoredEntry] {
            defer { paths = paths.dropFirst(count) }
            return paths.prefix(count).compactMap { path in
                store.entry(path).map { StoredEntry(path: path, attributes: $0.attributes) }
            }
        }

        func nextWhole(_ count: Int) throws(Failure) -> [WholeEntry] {
            try next(count).map { (entry) throws(Failure) in try store.whole(at: entry.path) }
        }

        func forEach(_ count: Int, _ body: (String, StoredAttributes) -> Void) throws(Failure) -> Int {
            let entries = try next(count)
            for entry in entries { body(String(entry.path.name), entry.attributes) }
            return entries.count
        }
    }

    private final class Reader: TreeReader {
        private let store: SkeletonStore

        init(_ store: SkeletonStore) { self.store = store }

        func attributes(at path: RelativePath) -> StoredAttributes? { store.entry(path)?.attributes }

        func open(_ path: RelativePath, as name: RelativePath) throws(Failure) -> any ReadableContent {
            guard let entry = store.entry(path) else { throw .notFound(name) }
            guard let bytes = entry.bytes else { throw Failure(.wrongForm, "\(name) is a folder, not a file.") }
            return Content(bytes, entry.attributes)
        }
    }

    private final class Content: ReadableContent {
        private let bytes: [UInt8]
        let attributes: StoredAttributes
        /// Files are replaced whole and never modified.
        let isUnchanged = true
        let filled: UInt64? = nil

        init(_ bytes: [UInt8], _ attributes: StoredAttributes) { (self.bytes, self.attributes) = (bytes, attributes) }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
            let rest = bytes.dropFirst(Int(clamping: offset)).prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        }

        func run(at offset: UInt64) -> FileHoles.Run { .data }

        func expectAll() {}

        func share(with staged: any StagedContent) throws(Failure) -> Bool { false }
    }

    private final class NoChanges: TreeEditing {
        let isFull = false

        func prepare(_ changes: [PlannedChange]) {}

        func make(_ change: PlannedChange) throws(Failure) -> MadeChange {
            throw Failure(.forbidden, "The server's store changes no names and no attributes of \(change.change.path).")
        }

        func commit(_: KnownChanges) throws(Failure) {}

        func finish() -> [TouchedFile] { [] }
    }

    private final class Remover: TreeRemover {
        private let store: SkeletonStore
        let isFull = false

        init(_ store: SkeletonStore) { self.store = store }

        func begin(
            _ path: RelativePath, isRecursive: Bool, of version: FileVersion?
        ) throws(Failure) -> any TreeRemoval { Removed(try store.remove(path, of: version)) }

        func commit() throws(Failure) {}
    }

    /// A removal that was complete when it began.
    private final class Removed: TreeRemoval {
        private var file: RemovedFile?

        init(_ file: RemovedFile) { self.file = file }

        func step(_ count: Int) throws(Failure) -> Bool { true }

        func takeRemoved() -> [RemovedFile] {
            defer { file = nil }
            return file.map { [$0] } ?? []
        }
    }
}
