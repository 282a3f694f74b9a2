package import TransferModel
package import TransferPorts
import TransferSystem

extension MemoryStore {
    package func changes(for command: StoringCommand?) -> any TreeEditing { MemoryChanges(self, for: command) }

    package func remover() -> any TreeRemover { MemoryRemover(self) }

    package func confirmNames(of paths: [RelativePath]) -> Bool { true }

    package func isDoubted(_ paths: [RelativePath]) -> Bool { false }

    package func freeable(_ batch: TrashBatch) -> FreeableRoom {
        read { tree in
            var sum = FreeableRoom()
            tree.forEachFile(below: .trash(batch, nil)) { _, node in
                sum.stored = sum.stored.addingClamped(node.freed)
                sum.onDisk = sum.onDisk.addingClamped(node.freed)
            }
            return sum
        }
    }

    package func tidyTrash(_ folders: Set<RelativePath>) {
        medium.state.withLock { state in
            for folder in folders { state.tree.tidyTrash(folder) }
        }
    }
}

extension MemoryStore {
    /// Records the changes, or restores the state before them if they cannot be recorded.
    fileprivate func record(_ changes: KnownChanges, orRestore before: MemoryMedium.State) throws(Failure) {
        do throws(RecordsError) {
            try changeRecords?.complete(.none, changes)
        } catch {
            medium.state.withLock { $0 = before }
            throw Failure(
                .storageFailed, "The changes were not made, because they cannot be recorded. \(error.message)")
        }
    }
}

/// Makes each change as a whole, under the lock.
private final class MemoryChanges: TreeEditing {
    private let store: MemoryStore
    private let command: StoringCommand?
    /// Folders of the trash that entries were moved out of.
    private var emptied: Set<RelativePath> = []
    /// The state before the first uncommitted change, if the store records changes.
    private var before: MemoryMedium.State?

    package let isFull = false

    init(_ store: MemoryStore, for command: StoringCommand?) { (self.store, self.command) = (store, command) }

    package func prepare(_ changes: [PlannedChange]) {}

    package func make(_ change: PlannedChange) throws(Failure) -> MadeChange {
        var freed: UInt64 = 0
        let made = try store.with { (state) throws(Failure) in
            if store.recordsChanges, before == nil { before = state }
            var step = ChangeStep(change, for: command)
            let number = try step.make(&state)
            freed = step.freed
            return MadeChange(version: number.flatMap { state.tree.node($0)?.fileVersion }, kept: step.kept)
        }
        if freed > 0 { store.space?.quota?.removed(freed) }
        if case .move(let path, _, _, _) = change.change, path.leadsToTrash {
            path.parent.map { _ = emptied.insert($0) }
        }
        return made
    }

    package func commit(_ changes: KnownChanges) throws(Failure) {
        defer { before = nil }
        if let before { try store.record(changes, orRestore: before) }
        store.medium.letOthersIn()
        store.tidyTrash(emptied)
        emptied = []
    }

    /// Always empty, because `prepare` touches no files.
    package func finish() -> [TouchedFile] { [] }
}

/// One change. All checks come before the first modification.
private struct ChangeStep {
    private let planned: PlannedChange
    private let command: StoringCommand?
    /// The number of bytes that the change has freed.
    private(set) var freed: UInt64 = 0
    private(set) var kept: KeptFile?

    typealias State = MemoryMedium.State

    init(_ planned: PlannedChange, for command: StoringCommand?) { (self.planned, self.command) = (planned, command) }

    /// - Returns: the number of the changed node; nil for a discard without a place in the trash.
    mutating func make(_ state: inout State) throws(Failure) -> UInt64? {
        switch planned.change {
        case .folder(let path, let replaces, let attributes, _):
            if state.tree.node(at: path)?.isFolder != true {
                try state.tree.makeFolder(path.parent)
                try giveWay(path, replaces, &state)
            }
            try state.tree.makeFolder(path)
            return try set(path, attributes, &state)
        case .link(let path, let text, let replaces, let attributes, _):
            guard state.tree.node(at: path)?.target != text else { return try set(path, attributes, &state) }
            try put(path, replaces, &state) { $0.make(.link(text), permissions: 0o777) }
            return try set(path, attributes, &state)
        case .hardLink(let path, let source, let replaces, let attributes, _):
            try link(path, to: source, replaces, &state)
            return try set(path, attributes, &state)
        case .set(let path, let attributes, _):
            guard let node = state.tree.node(at: path) else { throw .notFound(path) }
            try check(node, path, comparing: true)
            return try set(path, attributes, &state)
        case .move(let path, let target, let replaces, _): return try move(path, to: target, replaces, &state)
        case .discard(let path, _, _):
            guard let target = planned.trashed else { return nil }
            return try move(path, to: target, false, &state)
        }
    }

    private func set(
        _ path: RelativePath, _ attributes: TreeChange.Attributes?, _ state: inout State
    ) throws(Failure) -> UInt64? {
        guard let node = state.tree.node(at: path) else { throw .notFound(path) }
        if let attributes {
            let isLink = node.target != nil
            state.tree.set(
                node.number, permissions: isLink ? nil : attributes.permissions, modified: attributes.modified,
                attributes.extra)
        }
        return node.number
    }

    private mutating func link(
        _ path: RelativePath, to source: RelativePath, _ replaces: Bool, _ state: inout State
    ) throws(Failure) {
        guard let node = state.tree.node(at: source) else { throw .notFound(source) }
        try check(node, source, comparing: false)
        guard node.bytes != nil else {
            throw Failure(.wrongForm, "\(source) is not a file, so it cannot be hard-linked.")
        }
        if let there = state.tree.node(at: path), there.number == node.number {
            guard path != source else {
                throw Failure(.pathConflict, "\(path) and \(source) are one name. Choose another name.")
            }
            return
        }
        try put(path, replaces, &state) { _ in node.number }
        noteFile(node.number, path, replaces, &state)
    }

    /// Makes a node and gives it a path, in place of the node that has the path.
    private mutating func put(
        _ path: RelativePath, _ replaces: Bool, _ state: inout State, _ make: (inout MemoryTree) -> UInt64
    ) throws(Failure) {
        try state.tree.makeFolder(path.parent)
        try giveWay(path, replaces, &state)
        try state.tree.give(path, to: make(&state.tree))
    }

    private mutating func move(
        _ path: RelativePath, to target: RelativePath, _ replaces: Bool, _ state: inout State
    ) throws(Failure) -> UInt64? {
        guard target.below(path) == nil else {
            throw Failure(.invalidPath, "\(path) cannot be moved into itself.")
        }
        guard let node = state.tree.node(at: path) else { throw .notFound(path) }
        try check(node, path, comparing: true)
        guard path != target else { return node.number }
        try state.tree.makeFolder(target.parent)
        if let there = state.tree.node(at: target) {
            if there.number == node.number {
                guard replaces else { throw .taken(target) }
                state.tree.take(path)
                return node.number
            }
            guard !node.isFolder else { throw .taken(target) }
            try giveWay(target, replaces, &state, comparing: false)
        }
        try state.tree.move(path, to: target)
        noteFile(node.number, target, replaces, &state)
        return node.number
    }

    /// Notes the file for the command, which must not replace the file by another one.
    private func noteFile(_ number: UInt64, _ path: RelativePath, _ replaces: Bool, _ state: inout State) {
        guard replaces else { return }
        state.rules.commands.add(state.tree.node(number)?.fileVersion, of: command, at: path)
    }

    /// Removes the node at a path, or moves it to the trash.
    ///
    /// - Parameter comparing: whether `planned.compared` describes this node. In a move, it describes the moved node.
    private mutating func giveWay(
        _ path: RelativePath, _ replaces: Bool, _ state: inout State, comparing: Bool = true
    ) throws(Failure) {
        guard let there = state.tree.node(at: path) else { return }
        guard replaces, !there.isFolder else { throw .taken(path) }
        if comparing {
            try planned.compared?.check(there.version, isFolder: false, hasOtherNames: there.names > 1, path)
        }
        try state.check(there, command, path)
        if let place = planned.place, place.path == path {
            kept = try state.tree.keep(there, at: path, place.target, place.batch)
        } else {
            freed += there.freed
            state.tree.take(path)
        }
    }

    /// Checks that the node is the one that the caller has looked at.
    private func check(_ node: MemoryTree.Node, _ path: RelativePath, comparing: Bool) throws(Failure) {
        if let expected = planned.expected, node.number != expected.object { throw .isReplaced(path) }
        if comparing {
            try planned.compared?.check(node.version, isFolder: node.isFolder, hasOtherNames: node.names > 1, path)
        }
    }
}

// MARK: Removing

private final class MemoryRemover: TreeRemover {
    private let store: MemoryStore
    package let isFull = false

    init(_ store: MemoryStore) { self.store = store }

    package func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion?
    ) throws(Failure) -> any TreeRemoval {
        let removal = MemoryRemoval(store)
        try removal.begin(path, isRecursive: isRecursive, of: version)
        return removal
    }

    package func commit() throws(Failure) {}
}

private final class MemoryRemoval: TreeRemoval {
    private let store: MemoryStore
    /// Folders that are being emptied, from the top down.
    private var folders: [RelativePath] = []
    private var removed: [RemovedFile] = []

    init(_ store: MemoryStore) { self.store = store }

    func begin(_ path: RelativePath, isRecursive: Bool, of version: FileVersion?) throws(Failure) {
        try recorded { () throws(Failure) in
            let isFolder = try store.with { (state) throws(Failure) in
                guard let node = state.tree.node(at: path) else { throw .notFound(path) }
                guard node.isFolder else {
                    if let version, node.version.told != version { throw .otherVersion(path) }
                    remove(path, node, &state)
                    return false
                }
                guard version == nil else { throw .otherVersion(path) }
                guard isRecursive else {
                    throw Failure(.wrongForm, "\(path) is a folder: it can only be removed together with its content.")
                }
                return true
            }
            if isFolder { folders = [path] }
        }
    }

    package func step(_ count: Int) throws(Failure) -> Bool {
        try recorded { for _ in 0..<count where !folders.isEmpty { removeNext() } }
        return folders.isEmpty
    }

    /// Removes one name, or descends into the next folder.
    private func removeNext() {
        guard let path = folders.last else { return }
        let next = store.medium.state.withLock { state -> RelativePath? in
            guard let folder = state.tree.node(at: path), folder.isFolder else { return nil }
            for (name, node) in state.tree.names(in: folder) {
                guard let path = RelativePath.child(name, of: path) else { continue }
                if node.isFolder { return path }
                remove(path, node, &state)
                return nil
            }
            state.tree.take(path)
            return nil
        }
        if let next {
            folders.append(next)
        } else if store.read({ $0.node(at: path)?.isFolder != true }) {
            folders.removeLast()
        }
    }

    /// Removes the records of removed files in the same step, if the store records changes.
    private func recorded(_ body: () throws(Failure) -> Void) throws(Failure) {
        guard store.recordsChanges else { return try body() }
        let (count, folders) = (removed.count, folders)
        let before = store.medium.state.withLock { $0 }
        try body()
        var changes = KnownChanges()
        changes.replaced = removed.dropFirst(count).map { .init($0.path.string, by: nil, at: .max) }
        do throws(Failure) {
            try store.record(changes, orRestore: before)
        } catch {
            removed.removeLast(removed.count - count)
            self.folders = folders
            throw error
        }
    }

    package func takeRemoved() -> [RemovedFile] {
        defer { removed = [] }
        return removed
    }

    private func remove(_ path: RelativePath, _ node: MemoryTree.Node, _ state: inout MemoryMedium.State) {
        state.tree.take(path)
        guard let version = node.fileVersion else { return }
        removed.append(RemovedFile(path: path, version: version, isLast: node.names < 2))
        if node.names < 2 { store.space?.quota?.removed(version.size) }
    }
}
