package import TransferModel
package import TransferPorts
import TransferSystem

extension ClusterStore {
    package func changes(for command: StoringCommand?) -> any TreeEditing { ClusterChanges(self, for: command) }

    package func remover() -> any TreeRemover { ClusterRemover(self) }

    package func confirmNames(of paths: [RelativePath]) -> Bool {
        do throws(LedgerError) {
            try ledger.awaitDurability(of: ledger.term)
            return true
        } catch {
            return false
        }
    }

    package func isDoubted(_ paths: [RelativePath]) -> Bool { false }

    package func freeable(_ batch: TrashBatch) -> FreeableRoom {
        guard let node = try? node(at: .trash(batch, nil)), let sum = try? ledger.sum(below: [node.number]) else {
            return FreeableRoom()
        }
        return FreeableRoom(stored: sum.bytes, onDisk: sum.bytes)
    }

    package func tidyTrash(_ folders: Set<RelativePath>) {
        for folder in folders {
            var next: RelativePath? = folder
            while let path = next, path.leadsToTrash, path != .trashFolder, removeIfEmpty(path) { next = path.parent }
        }
    }

    private func removeIfEmpty(_ path: RelativePath) -> Bool {
        var view = view()
        do {
            guard let folder = try view.looking(at: path), folder.isFolder,
                try ledger.list(folder.number, after: nil, limit: 1).isEmpty
            else { return false }
            view.remove(folder)
            // If the folder has got an entry, this is a conflict, and the folder stays.
            try ledger.apply(try view.changes { _ in [] })
            return true
        } catch {
            return false
        }
    }

    /// Decides and applies changes until nothing that was looked at has changed meanwhile.
    ///
    /// - Parameters:
    ///   - isAnswer: whether a client receives the result. What was found for it has to be durable, also if nothing
    ///     changes.
    ///   - decide: makes the changes in a new view.
    func settle<T>(
        isAnswer: (T) -> Bool = { _ in true }, _ decide: (inout TreeView) throws(ViewError) -> T
    ) throws(Failure) -> T {
        var last = LedgerError(.conflict, "Other clients change the same files all the time; try again.")
        for _ in 0..<Self.mostAttempts {
            var view = view()
            do throws(ViewError) {
                let result = try decide(&view)
                do throws(LedgerError) {
                    let changes = try view.changes { (number) throws(LedgerError) in try ledger.extents(of: number) }
                    if !changes.isEmpty || isAnswer(result) { try ledger.settle(changes, since: view.term) }
                    return result
                } catch {
                    throw .ledger(error)
                }
            } catch {
                guard case .ledger(let error) = error, error.reason == .conflict || error.reason == .epochClosed else {
                    throw error.failure
                }
                if error.reason == .epochClosed { objects.numbers.abandon() }
                last = error
            }
        }
        throw Failure(ledger: last)
    }
}

/// Makes changes in a view, and writes them in one transaction when they are committed.
private final class ClusterChanges: TreeEditing {
    private let store: ClusterStore
    private let command: StoringCommand?
    private var view: TreeView
    /// The changes since the last commit that did not fail.
    private var made: [PlannedChange] = []
    /// Folders of the trash that entries were moved out of.
    private var emptied: Set<RelativePath> = []
    private var freed: UInt64 = 0

    /// The most changes of one transaction, which takes the database some 30 ms.
    private static let most = 1024

    init(_ store: ClusterStore, for command: StoringCommand?) {
        (self.store, self.command, view) = (store, command, store.view())
    }

    var isFull: Bool { made.count >= Self.most }

    func prepare(_ changes: [PlannedChange]) {
        // If this fails, each change looks at its paths, and fails for the same reason.
        try? view.load(changes.flatMap(\.paths))
    }

    func make(_ change: PlannedChange) throws(Failure) -> MadeChange {
        do throws(ViewError) {
            let result = try make(change, in: &view)
            made.append(change)
            return result
        } catch {
            throw error.failure
        }
    }

    private func make(_ change: PlannedChange, in view: inout TreeView) throws(ViewError) -> MadeChange {
        var step = ChangeStep(change, for: command, in: store)
        let node = try step.make(in: &view)
        freed = freed.addingClamped(step.freed)
        if case .move(let path, _, _, _) = change.change, path.leadsToTrash, let folder = path.parent {
            emptied.insert(folder)
        }
        return MadeChange(version: node?.fileVersion, kept: step.kept)
    }

    func commit(_ changes: KnownChanges) throws(Failure) {
        defer { (view, made, emptied, freed) = (store.view(), [], [], 0) }
        guard !made.isEmpty else { return }
        var first: TreeView? = view
        try store.settle { (view) throws(ViewError) in
            if let known = first {
                (view, first) = (known, nil)
                return
            }
            // What was looked at has changed, so the changes are made once more, from what is there now. If one of them
            // fails now, none is made.
            freed = 0
            do throws(LedgerError) { try view.load(made.flatMap(\.paths)) } catch { throw .ledger(error) }
            for change in made { _ = try make(change, in: &view) }
        }
        if freed > 0 { store.space?.quota?.removed(freed) }
        store.tidyTrash(emptied)
    }

    func finish() -> [TouchedFile] { [] }
}

extension PlannedChange {
    /// The paths that the change looks at.
    fileprivate var paths: [RelativePath] {
        var paths = [change.path]
        if case .move(_, let target, _, _) = change { paths.append(target) }
        if let trashed { paths.append(trashed) }
        if let place { paths.append(place.target) }
        return paths
    }
}

// MARK: Removing

private final class ClusterRemover: TreeRemover {
    private let store: ClusterStore
    let isFull = false

    init(_ store: ClusterStore) { self.store = store }

    func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion?
    ) throws(Failure) -> any TreeRemoval {
        let removal = ClusterRemoval(store)
        try removal.begin(path, isRecursive: isRecursive, of: version)
        return removal
    }

    /// Does nothing: each step of a removal is a transaction.
    func commit() throws(Failure) {}
}

private final class ClusterRemoval: TreeRemoval {
    private let store: ClusterStore
    /// Folders that are being emptied, from the top down.
    private var folders: [RelativePath] = []
    private var removed: [RemovedFile] = []

    init(_ store: ClusterStore) { self.store = store }

    func begin(_ path: RelativePath, isRecursive: Bool, of version: FileVersion?) throws(Failure) {
        let file = try store.settle(isAnswer: { $0 != nil }) { (view) throws(ViewError) -> RemovedFile? in
            guard let node = try view.looking(at: path) else { throw .failure(.notFound(path)) }
            guard !node.isFolder else {
                guard version == nil else { throw .failure(.otherVersion(path)) }
                guard isRecursive else {
                    throw .failure(
                        Failure(.wrongForm, "\(path) is a folder: it can only be removed together with its content."))
                }
                return nil
            }
            if let version, node.version.told != version { throw .failure(.otherVersion(path)) }
            view.remove(node)
            return RemovedFile(path: path, version: node.version, isLast: true)
        }
        if let file { note([file]) } else { folders = [path] }
    }

    func step(_ count: Int) throws(Failure) -> Bool {
        var left = max(1, count)
        while left > 0, let path = folders.last { left -= max(1, try removeSome(path, left)) }
        return folders.isEmpty
    }

    /// Removes some entries of a folder, or the folder if it is empty, or goes down to a folder in it.
    ///
    /// - Returns: how many names were looked at.
    private func removeSome(_ path: RelativePath, _ count: Int) throws(Failure) -> Int {
        enum Found {
            case removed([RemovedFile], looked: Int)
            case folder(RelativePath)
            case gone

            var isGone: Bool { if case .gone = self { true } else { false } }
        }
        let store = store
        let found = try store.settle(isAnswer: \.isGone) { (view) throws(ViewError) -> Found in
            guard let folder = try view.looking(at: path), folder.isFolder else { return .gone }
            let entries: [NodeRow]
            do throws(LedgerError) {
                entries = try store.ledger.list(folder.number, after: nil, limit: count)
            } catch {
                throw .ledger(error)
            }
            guard !entries.isEmpty else {
                view.remove(folder)
                return .gone
            }
            view.rely(on: entries)
            var removed: [RemovedFile] = []
            for node in entries {
                let name = RelativePath(own: "\(path.string)/\(node.name.string)") ?? path
                if node.isFolder {
                    guard removed.isEmpty else { break }
                    return .folder(name)
                }
                view.remove(node)
                if node.file != nil { removed.append(RemovedFile(path: name, version: node.version, isLast: true)) }
            }
            return .removed(removed, looked: entries.count)
        }
        switch found {
        case .removed(let files, let looked):
            note(files)
            return looked
        case .folder(let folder): folders.append(folder)
        case .gone: folders.removeLast()
        }
        return 1
    }

    private func note(_ files: [RemovedFile]) {
        removed += files
        store.space?.quota?.removed(files.reduce(0) { $0.addingClamped($1.version.size) })
    }

    func takeRemoved() -> [RemovedFile] {
        defer { removed = [] }
        return removed
    }
}
