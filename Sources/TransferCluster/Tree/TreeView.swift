import TransferModel
import TransferPorts

/// The part of the tree that one batch of publications or changes looks at, with the changes that it makes. Nothing is
/// written before the changes are applied to the ledger; then all that the view has relied on must still hold.
///
///     load ─► node, make, give, move, set, remove ─► changes ─► ClusterLedger.apply
///
/// A path that was not loaded is looked up when it is needed, with one more query.
struct TreeView {
    private let ledger: any ClusterLedger
    /// The term before the view has looked at anything.
    let term: LedgerTerm
    private let numbers: NodeNumbers
    private let clock: @Sendable () -> Int64

    /// The nodes as the ledger has them.
    private var loaded: [UInt64: NodeRow] = [:]
    /// What each looked-up name leads to, with the changes of this view: the number of a node, or nil if it is free.
    private var names: [Place: UInt64?] = [:]
    /// The nodes that this view has changed or made.
    private var present: [UInt64: NodeRow] = [:]
    private var removed: Set<UInt64> = []
    /// Nodes that the decisions depend on, among them the folders on the way to each path.
    private var relied: Set<UInt64> = []
    private var extents: [UInt64: [Extent]] = [:]

    private struct Place: Hashable {
        let folder: UInt64
        let name: PathKey
    }

    /// - Parameters:
    ///   - clock: UTC, in nanoseconds since 1970.
    ///   - seen: nodes that were looked at before.
    init(
        _ ledger: any ClusterLedger, _ numbers: NodeNumbers, clock: @escaping @Sendable () -> Int64,
        seen: SeenNodes? = nil
    ) {
        (self.ledger, self.numbers, self.clock) = (ledger, numbers, clock)
        term = seen?.term ?? ledger.term
        if let seen { take(seen) }
    }

    // MARK: Looking

    /// Looks up paths and the folders above them, with one query.
    mutating func load(_ paths: some Sequence<RelativePath>) throws(LedgerError) {
        var wanted = LedgerPaths()
        for path in paths where !knows(path) { wanted.add(path) }
        guard !wanted.steps.isEmpty else { return }
        take(SeenNodes(paths: wanted, nodes: try ledger.look(wanted), term: term))
    }

    /// Takes nodes as they were when they were looked at, perhaps a while ago.
    private mutating func take(_ seen: SeenNodes) {
        let found = seen.nodes
        for (index, step) in seen.paths.steps.enumerated() {
            let folder: UInt64
            if let above = step.above {
                // A path below one that is free, or below a file, is free as well.
                guard let node = found[above] else { continue }
                folder = node.number
            } else {
                folder = NodeRow.top
            }
            let place = Place(folder: folder, name: step.name)
            // A name that was looked up before keeps the node that the decisions so far depend on. If it has another
            // one by now, the ledger refuses the changes.
            guard names[place] == nil else { continue }
            let node = found[index]
            names[place] = .some(node?.number)
            if let node, loaded[node.number] == nil { loaded[node.number] = node }
        }
    }

    private func knows(_ path: RelativePath) -> Bool {
        var folder = NodeRow.top
        for component in path.components {
            guard let known = names[Place(folder: folder, name: PathKey(String(component)))] else {
                // A folder that this view makes has no other names than those that the view gives.
                return folder != NodeRow.top && loaded[folder] == nil && present[folder] != nil
            }
            guard let number = known else { return true }
            folder = number
        }
        return true
    }

    /// The node at a path with the changes of this view; nil if the path is free. The changes of this view will only be
    /// made if the node is still the same then.
    mutating func node(at path: RelativePath) throws(LedgerError) -> NodeRow? {
        if !knows(path) { try load([path]) }
        return number(at: path).flatMap { node($0) }
    }

    /// The node at a path that was loaded; nil also for a path that was not.
    mutating func knownNode(at path: RelativePath) -> NodeRow? { number(at: path).flatMap { node($0) } }

    func node(_ number: UInt64) -> NodeRow? {
        removed.contains(number) ? nil : present[number] ?? loaded[number]
    }

    private mutating func number(at path: RelativePath) -> UInt64? {
        var folder = NodeRow.top
        for component in path.components {
            guard let found = names[Place(folder: folder, name: PathKey(String(component)))] ?? nil else { return nil }
            relied.insert(found)
            folder = found
        }
        return folder
    }

    /// The number of the folder at a path, which exists; nil stands for the top.
    private mutating func folder(_ path: RelativePath?) -> UInt64? {
        guard let path else { return NodeRow.top }
        return number(at: path).flatMap { node($0)?.isFolder == true ? $0 : nil }
    }

    // MARK: Changing

    /// Makes a folder and the folders above it, unless they exist.
    ///
    /// - Throws: `pathConflict` if a file has one of the paths, `invalidPath` if a link has it.
    mutating func makeFolder(_ path: RelativePath?) throws(ViewError) {
        guard let path else { return }
        if let there = try looking(at: path) {
            do throws(Failure) { return try there.checkIsFolder(path) } catch { throw .failure(error) }
        }
        try makeFolder(path.parent)
        try give(path, to: try newNode(.folder, permissions: path.leadsToTrash ? 0o700 : 0o755))
    }

    /// A new node without a name.
    func newNode(_ form: NodeRow.Form, permissions: UInt16) throws(ViewError) -> NodeRow {
        NodeRow(try numbered(), form, permissions: permissions, at: clock())
    }

    private func numbered() throws(ViewError) -> UInt64 {
        do throws(LedgerError) { return try numbers.next() } catch { throw .ledger(error) }
    }

    /// Gives a new node a name, which has to be free, in an existing folder.
    mutating func give(_ path: RelativePath, to node: NodeRow, _ extents: [Extent] = []) throws(ViewError) {
        guard let folder = folder(path.parent) else { throw .failure(.notFound(path.parent)) }
        var node = node
        (node.folder, node.name) = (folder, PathKey(String(path.name)))
        names[Place(folder: folder, name: node.name)] = .some(node.number)
        present[node.number] = node
        if !extents.isEmpty { self.extents[node.number] = extents }
    }

    /// Gives a node another name, which has to be free, in an existing folder.
    @discardableResult
    mutating func move(_ node: NodeRow, to path: RelativePath) throws(ViewError) -> NodeRow {
        guard let folder = folder(path.parent) else { throw .failure(.notFound(path.parent)) }
        names[Place(folder: node.folder, name: node.name)] = .some(nil)
        var moved = node
        (moved.folder, moved.name) = (folder, PathKey(String(path.name)))
        names[Place(folder: folder, name: moved.name)] = .some(node.number)
        return change(moved)
    }

    /// Replaces the attributes of a node.
    ///
    /// - Returns: the node with its new `touch`.
    @discardableResult
    mutating func change(_ node: NodeRow) -> NodeRow {
        var changed = node
        let (next, overflow) = node.touch.addingReportingOverflow(1)
        changed.touch = max(clock(), overflow ? .max : next)
        present[node.number] = changed
        relied.insert(node.number)
        return changed
    }

    /// Removes a node. A folder has to be empty when the changes are applied.
    mutating func remove(_ node: NodeRow) {
        names[Place(folder: node.folder, name: node.name)] = .some(nil)
        relied.insert(node.number)
        removed.insert(node.number)
        present[node.number] = nil
    }

    /// Whether this view removes a node.
    func isRemoved(_ number: UInt64) -> Bool { removed.contains(number) }

    /// Makes the changes depend on nodes, even if this view looks at none of their names.
    mutating func rely(on nodes: [NodeRow]) {
        for node in nodes {
            if loaded[node.number] == nil { loaded[node.number] = node }
            relied.insert(node.number)
        }
    }

    // MARK: Writing

    /// What has to be written, and what has to be true for that.
    ///
    /// - Parameter known: the extents of a removed file that has several.
    func changes(_ known: (UInt64) throws(LedgerError) -> [Extent]) throws(LedgerError) -> LedgerChanges {
        var changes = LedgerChanges()
        for number in relied.union(removed) {
            if let node = loaded[number] { changes.expected[number] = node.touch }
        }
        for (number, node) in present {
            if let before = loaded[number] {
                if node != before { changes.updated[number] = node }
            } else {
                changes.made[number] = node
                changes.epochs.insert(ObjectNumber(rawValue: number).epoch)
                if let extents = extents[number] { changes.extents[number] = extents }
                if let file = node.file { changes.count(file, 1, extents[number] ?? []) }
            }
        }
        for number in removed {
            guard let node = loaded[number] else { continue }
            changes.removed.insert(number)
            guard let file = node.file else { continue }
            var extents: [Extent] = []
            if case .extents = file.content { extents = try known(number) }
            changes.count(file, -1, extents)
        }
        return changes
    }

}

extension TreeView {
    /// The node at a path, as `node(at:)` finds it.
    mutating func looking(at path: RelativePath) throws(ViewError) -> NodeRow? {
        do throws(LedgerError) { return try node(at: path) } catch { throw .ledger(error) }
    }

    /// - Throws: `pathConflict` or `invalidPath` if a file or a link is in the place of a folder above `path`.
    mutating func checkFolders(above path: RelativePath) throws(ViewError) {
        guard let folder = path.parent else { return }
        if let there = try looking(at: folder) {
            do throws(Failure) { return try there.checkIsFolder(folder) } catch { throw .failure(error) }
        }
        try checkFolders(above: folder)
    }

    /// Moves a replaced file or link to the trash, into a batch in which its place is free.
    mutating func keep(_ there: NodeRow, at path: RelativePath, in trash: OpenTrashBatch) throws(ViewError) -> KeptFile
    {
        while true {
            let batch = trash.current
            let place = RelativePath.trash(batch, path)
            guard try looking(at: place) == nil else {
                trash.renew(behind: batch)
                continue
            }
            return try keep(there, TrashPlace(path, in: batch))
        }
    }

    /// Moves a replaced file or link to a place in the trash, which has to be free.
    mutating func keep(_ there: NodeRow, _ place: TrashPlace) throws(ViewError) -> KeptFile {
        guard try looking(at: place.target) == nil else { throw .failure(.taken(place.target)) }
        try makeFolder(place.target.parent)
        let moved = try move(there, to: place.target)
        let versions = there.fileVersion.map { KeptFile.Versions(before: $0, after: moved.version) }
        return KeptFile(place: place.target, in: place.batch, version: versions)
    }
}

/// Why a view could not make a change.
enum ViewError: Error {
    /// The change is refused for this reason.
    case failure(Failure)
    /// The ledger could not be asked.
    case ledger(LedgerError)

    var failure: Failure {
        switch self {
        case .failure(let failure): failure
        case .ledger(let error): Failure(ledger: error)
        }
    }
}

/// The nodes at paths and at the folders above them, as `ClusterLedger.look` has found them.
struct SeenNodes: SeenPaths {
    let paths: LedgerPaths
    let nodes: [NodeRow?]
    /// The term before they were looked at.
    let term: LedgerTerm
}
