import TransferModel
import TransferPorts
import TransferSystem

/// Makes one planned change in a view of the tree, or throws the reason why it cannot. Nothing is written yet.
struct ChangeStep {
    private let planned: PlannedChange
    private let command: StoringCommand?
    private let store: ClusterStore
    /// Bytes that the change has freed.
    private(set) var freed: UInt64 = 0
    private(set) var kept: KeptFile?

    init(_ planned: PlannedChange, for command: StoringCommand?, in store: ClusterStore) {
        (self.planned, self.command, self.store) = (planned, command, store)
    }

    /// - Returns: the changed node; nil for a discard without a place in the trash.
    mutating func make(in view: inout TreeView) throws(ViewError) -> NodeRow? {
        switch planned.change {
        case .folder(let path, let replaces, let attributes, _):
            if try view.looking(at: path)?.isFolder != true {
                try view.makeFolder(path.parent)
                try giveWay(path, replaces, in: &view)
                try view.makeFolder(path)
            }
            return try set(path, attributes, in: &view)
        case .link(let path, let text, let replaces, let attributes, _):
            if try view.looking(at: path)?.target != text {
                try view.makeFolder(path.parent)
                try giveWay(path, replaces, in: &view)
                try view.give(path, to: try view.newNode(.link(text), permissions: 0o777))
            }
            return try set(path, attributes, in: &view)
        case .hardLink(let path, _, _, _, _):
            throw .failure(Failure(.wrongForm, "\(path) cannot be made: this store has no hard links."))
        case .set(let path, let attributes, _):
            guard let node = try view.looking(at: path) else { throw .failure(.notFound(path)) }
            try check(node, path, comparing: true)
            return try set(path, attributes, in: &view)
        case .move(let path, let target, let replaces, _): return try move(path, to: target, replaces, in: &view)
        case .discard(let path, _, _):
            guard let target = planned.trashed else { return nil }
            return try move(path, to: target, false, in: &view)
        }
    }

    private func set(
        _ path: RelativePath, _ attributes: TreeChange.Attributes?, in view: inout TreeView
    ) throws(ViewError) -> NodeRow? {
        guard let node = try view.looking(at: path) else { throw .failure(.notFound(path)) }
        guard let attributes else { return node }
        return view.change(node.with(attributes))
    }

    private mutating func move(
        _ path: RelativePath, to target: RelativePath, _ replaces: Bool, in view: inout TreeView
    ) throws(ViewError) -> NodeRow? {
        guard target.below(path) == nil else {
            throw .failure(Failure(.invalidPath, "\(path) cannot be moved into itself."))
        }
        guard var node = try view.looking(at: path) else { throw .failure(.notFound(path)) }
        try check(node, path, comparing: true)
        guard path != target else { return node }
        try view.makeFolder(target.parent)
        if try view.looking(at: target) != nil {
            guard !node.isFolder else { throw .failure(.taken(target)) }
            try giveWay(target, replaces, in: &view, comparing: false)
        }
        if replaces, var file = node.file {
            file.command = command?.id
            node.form = .file(file)
        }
        let moved = try view.move(node, to: target)
        if replaces { store.rules.withLock { $0.commands.add(moved.fileVersion, of: command, at: target) } }
        return moved
    }

    /// Removes the node at a path, or moves it to the trash.
    ///
    /// - Parameter comparing: whether `planned.compared` describes this node. In a move, it describes the moved node.
    private mutating func giveWay(
        _ path: RelativePath, _ replaces: Bool, in view: inout TreeView, comparing: Bool = true
    ) throws(ViewError) {
        guard let there = try view.looking(at: path) else { return }
        guard replaces, !there.isFolder else { throw .failure(.taken(path)) }
        do throws(Failure) {
            if comparing {
                try planned.compared?.check(there.version, isFolder: false, hasOtherNames: false, path)
            }
            try store.rules.withLock { (rules) throws(Failure) in try rules.check(there, command, path) }
        } catch {
            throw .failure(error)
        }
        if let place = planned.place, place.path == path {
            kept = try view.keep(there, place)
        } else {
            freed = freed.addingClamped(there.file?.size ?? 0)
            view.remove(there)
        }
    }

    /// Checks that the node is the one that the caller has looked at.
    private func check(_ node: NodeRow, _ path: RelativePath, comparing: Bool) throws(ViewError) {
        if let expected = planned.expected, node.number != expected.object { throw .failure(.isReplaced(path)) }
        guard comparing, let compared = planned.compared else { return }
        do throws(Failure) {
            try compared.check(node.version, isFolder: node.isFolder, hasOtherNames: false, path)
        } catch {
            throw .failure(error)
        }
    }
}
