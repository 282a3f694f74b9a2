import TransferModel
import TransferSystem

/// What an archive has beside the content of files, found while files are on their way: folders, symbolic links, other names of
/// files, and files that were there already and have other attributes.
final class ArchiveNotes: Sendable {
    /// Where the first name of a file is.
    struct Stored: Sendable {
        let path: RelativePath
        let size: UInt64
        let digest: Digest?
        /// Whether it is another file than had the path before.
        let isNew: Bool
    }

    /// What is known of the first name of a file.
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
        /// Those that have no report.
        var open: [ObjectIdentifier: ArchiveItem] = [:]
        var firsts: [SyncEntry.NamedFile: First] = [:]
        /// The files whose first name is to have a path.
        var named: [RelativePath: SyncEntry.NamedFile] = [:]
        /// Folders with something in them that is wanted.
        var wanted: Set<RelativePath> = []
        /// Folders in which something was changed.
        var touched: Set<RelativePath> = []
        /// Folders that could not be made, and why.
        var unmade: [RelativePath: Failure] = [:]
        var look: @Sendable (RelativePath) -> SyncEntry? = { _ in nil }
    }

    private let state: Locked<State>
    private let keepsEmptyFolders: Bool

    /// - Parameters:
    ///   - keepsEmptyFolders: whether a folder is wanted in which nothing else is: not where rules choose what is.
    ///   - look: what has a path on the side that is changed, as far as that is known.
    init(keepsEmptyFolders: Bool, look: @escaping @Sendable (RelativePath) -> SyncEntry? = { _ in nil }) {
        self.keepsEmptyFolders = keepsEmptyFolders
        var state = State()
        state.look = look
        self.state = Locked(state)
    }

    /// The other side is known from now on.
    func compare(with there: [RelativePath: SyncEntry]) { state.withLock { $0.look = { there[$0] } } }

    /// Forgets what was found, which is looked for once more, but not what was made, or could not be.
    func restart() {
        state.withLock { state in
            var next = State()
            (next.unmade, next.touched, next.look) = (state.unmade, state.touched, state.look)
            state = next
        }
    }

    /// What has a path on the side that is changed.
    func there(_ path: RelativePath) -> SyncEntry? { state.withLock { $0.look }(path) }

    /// How many will have a report of their own.
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

    /// There is something in the folders that a path is in.
    func wants(_ path: RelativePath) {
        guard !keepsEmptyFolders else { return }
        state.withLock { state in
            for folder in path.folders { guard state.wanted.insert(folder).inserted else { return } }
        }
    }

    /// Whether a file has a name already, so that this is another one.
    ///
    /// - Parameter path: where the first name is to be.
    func hasName(_ file: SyncEntry.NamedFile, _ path: RelativePath) -> Bool {
        state.withLock { state in
            guard state.firsts[file] == nil else { return true }
            (state.firsts[file], state.named[path]) = (.waiting, file)
            return false
        }
    }

    /// Another name of a file is sent as the first one.
    func makeFirst(_ item: ArchiveItem) {
        guard let file = item.entry.named else { return }
        state.withLock { state in
            (state.firsts[file], state.named[item.path]) = (.waiting, file)
            state.open[ObjectIdentifier(item)] = nil
        }
    }
}

// MARK: What came of it

extension ArchiveNotes {
    /// A file is where it is to be, or beside that.
    ///
    /// - Parameter asked: where it was to be.
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

    /// Something in a folder was changed, or the folder itself.
    func touch(_ folder: RelativePath?) {
        guard let folder else { return }
        state.withLock { _ = $0.touched.insert(folder) }
    }

    func isTouched(_ folder: RelativePath) -> Bool { state.withLock { $0.touched.contains(folder) } }

    func cannotMake(_ folder: RelativePath, _ failure: Failure) { state.withLock { $0.unmade[folder] = failure } }

    func failure(of folder: RelativePath) -> Failure? { state.withLock { $0.unmade[folder] } }

    /// - Returns: whether it had no report so far.
    func reports(_ item: ArchiveItem) -> Bool {
        state.withLock { $0.open.removeValue(forKey: ObjectIdentifier(item)) != nil }
    }

    /// Those that have no report, and will have none.
    func takeOpen() -> [ArchiveItem] {
        let found = folders.reversed() + state.withLock { $0.links + $0.names + $0.present }
        return found.filter(reports)
    }

    /// Those that are wanted, each behind the one that it is in.
    var folders: [ArchiveItem] {
        state.withLock { state in
            keepsEmptyFolders ? state.folders : state.folders.filter { state.wanted.contains($0.path) }
        }
    }

    /// All that is found, but for files that were there.
    var found: [ArchiveItem] { folders + links + names }

    var links: [ArchiveItem] { state.withLock { $0.links } }
    var names: [ArchiveItem] { state.withLock { $0.names } }

    /// Files that were there, with the path that they have there.
    var present: [ArchiveItem] { state.withLock { $0.present } }
}
