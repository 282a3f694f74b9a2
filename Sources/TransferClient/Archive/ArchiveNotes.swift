import TransferModel
import TransferSystem

/// The entries of an archive besides the content of files, noted while files are transferred: folders, symbolic links,
/// other names of files, and files that existed already with other attributes.
final class ArchiveNotes: Sendable {
    /// The stored file with the first name.
    struct Stored: Sendable {
        let path: RelativePath
        let size: UInt64
        let digest: Digest?
        /// Whether this transfer stored the file; false if the path keeps the file that it had before.
        let isNew: Bool
    }

    /// The state of the first name of a file.
    enum First: Sendable {
        case waiting
        case stored(Stored)
        case failed(ResultCode)
    }

    private struct State {
        var folders: [ArchiveItem] = []
        var links: [ArchiveItem] = []
        var names: [ArchiveItem] = []
        var present: [ArchiveItem] = []
        /// The items that have no report yet.
        var open: [ObjectIdentifier: ArchiveItem] = [:]
        var firsts: [SyncEntry.NamedFile: First] = [:]
        /// The files that have several names, by the path that the first name of each is to have.
        var named: [RelativePath: SyncEntry.NamedFile] = [:]
        /// Folders that contain a wanted entry.
        var wanted: Set<RelativePath> = []
        /// Folders in which an entry has changed.
        var touched: Set<RelativePath> = []
        /// Folders that could not be created, with the reasons.
        var unmade: [RelativePath: Failure] = [:]
        var look: @Sendable (RelativePath) -> SyncEntry? = { _ in nil }
    }

    private let state: Locked<State>
    private let keepsEmptyFolders: Bool

    /// - Parameters:
    ///   - keepsEmptyFolders: whether a folder without wanted entries is wanted; false if rules select what is
    ///     transferred.
    ///   - look: returns the entry at a path on the receiving side; nil if no entry is known there.
    init(keepsEmptyFolders: Bool, look: @escaping @Sendable (RelativePath) -> SyncEntry? = { _ in nil }) {
        self.keepsEmptyFolders = keepsEmptyFolders
        var state = State()
        state.look = look
        self.state = Locked(state)
    }

    /// Sets the entries of the receiving side, now that they are known.
    func compare(with there: [RelativePath: SyncEntry]) { state.withLock { $0.look = { there[$0] } } }

    /// Forgets the entries that were found, because they are searched again. Keeps which folders were created, and
    /// which could not be.
    func restart() {
        state.withLock { state in
            var next = State()
            (next.unmade, next.touched, next.look) = (state.unmade, state.touched, state.look)
            state = next
        }
    }

    /// The entry at a path on the receiving side; nil if none is known.
    func there(_ path: RelativePath) -> SyncEntry? { state.withLock { $0.look }(path) }

    /// The number of folders, links and other names of files that will be reported.
    var count: Int {
        let wanted = folders.count
        return state.withLock { $0.links.count + $0.names.count + wanted }
    }
}

// MARK: Finding

extension ArchiveNotes {
    func add(_ form: EntryForm, _ place: SourcePlace, _ entry: SyncEntry, isNamed: Bool = false) {
        add(ArchiveItem(form, place.path, at: place, entry, there: there(entry.path), isNamed: isNamed))
    }

    func add(_ item: ArchiveItem) {
        state.withLock { state in
            state.open[ObjectIdentifier(item)] = item
            switch item.form {
            case .folder: state.folders.append(item)
            case .link: state.links.append(item)
            case .hardLink: state.names.append(item)
            case .file: state.present.append(item)
            }
        }
        if item.form == .link || item.form == .hardLink { wants(item.path) }
    }

    /// Notes that the folders above a path contain a wanted entry.
    func wants(_ path: RelativePath) {
        guard !keepsEmptyFolders else { return }
        state.withLock { state in
            for folder in path.folders { guard state.wanted.insert(folder).inserted else { return } }
        }
    }

    /// Whether a file was found before under another name. If not, this path is noted as the file's first name.
    ///
    /// - Parameter path: the path that the first name is to have.
    func hasName(_ file: SyncEntry.NamedFile, _ path: RelativePath) -> Bool {
        state.withLock { state in
            guard state.firsts[file] == nil else { return true }
            (state.firsts[file], state.named[path]) = (.waiting, file)
            return false
        }
    }

    /// Makes another name of a file the first name: the file is transferred under this name.
    func makeFirst(_ item: ArchiveItem) {
        guard let file = item.entry.named else { return }
        state.withLock { state in
            (state.firsts[file], state.named[item.path]) = (.waiting, file)
            state.open[ObjectIdentifier(item)] = nil
        }
    }
}

// MARK: Outcomes

extension ArchiveNotes {
    /// Notes that a file is stored under its path or a numbered one.
    ///
    /// - Parameter asked: the path under which the file was to be stored.
    func placed(_ asked: RelativePath, _ stored: Stored) {
        state.withLock { state in
            if let file = state.named[asked] { state.firsts[file] = .stored(stored) }
            if stored.isNew, let folder = stored.path.parent { state.touched.insert(folder) }
        }
    }

    func failed(_ asked: RelativePath, _ code: ResultCode) {
        state.withLock { state in
            if let file = state.named[asked] { state.firsts[file] = .failed(code) }
        }
    }

    func first(of file: SyncEntry.NamedFile?) -> First {
        state.withLock { state in file.flatMap { state.firsts[$0] } ?? .waiting }
    }

    /// Notes that a folder, or an entry in it, has changed.
    func touch(_ folder: RelativePath?) {
        guard let folder else { return }
        state.withLock { _ = $0.touched.insert(folder) }
    }

    func isTouched(_ folder: RelativePath) -> Bool { state.withLock { $0.touched.contains(folder) } }

    func cannotMake(_ folder: RelativePath, _ failure: Failure) { state.withLock { $0.unmade[folder] = failure } }

    func failure(of folder: RelativePath) -> Failure? { state.withLock { $0.unmade[folder] } }

    /// Marks an item as reported.
    ///
    /// - Returns: whether it had no report before.
    func reports(_ item: ArchiveItem) -> Bool {
        state.withLock { $0.open.removeValue(forKey: ObjectIdentifier(item)) != nil }
    }

    /// The items without a report, which are marked as reported.
    func takeOpen() -> [ArchiveItem] {
        let found = folders.reversed() + state.withLock { $0.links + $0.names + $0.present }
        return found.filter(reports)
    }

    /// The wanted folders, each after the folders that contain it.
    var folders: [ArchiveItem] {
        state.withLock { state in
            keepsEmptyFolders ? state.folders : state.folders.filter { state.wanted.contains($0.path) }
        }
    }

    /// All items except files that existed already.
    var found: [ArchiveItem] { folders + links + names }

    var links: [ArchiveItem] { state.withLock { $0.links } }
    var names: [ArchiveItem] { state.withLock { $0.names } }

    /// Files that existed already, with their paths on the receiving side.
    var present: [ArchiveItem] { state.withLock { $0.present } }
}
