import TransferCluster
import TransferClusterModel
import TransferIntake
import TransferModel
import TransferPorts
import TransferTestSupport

/// Moves, removals, copies and attributes, at any server.
extension ClusterWorld {
    private static let folders = ["d", "e", "m", "m/n"]

    /// The paths of all files and folders that clients see, or of those in the trash.
    private func paths(inTrash: Bool) -> [String] {
        let rows = database.contents
        return rows.nodes.values.compactMap { rows.path(of: $0) }.filter { path in
            inTrash ? Medium.isInTrash(path) : !path.hasPrefix(Medium.own)
        }.sorted()
    }

    // MARK: Changes

    /// Makes several changes in one batch.
    func rearrange(_ step: Step, _ node: ClusterNode) throws {
        var random = SplitMix64(seed: UInt64(step.c) << 32 | UInt64(step.b))
        var changes: [TreeChange] = []
        for _ in 0..<1 + random.next() % 3 {
            if let change = try change(&random) { changes.append(change) }
        }
        try perform(changes, node)
    }

    private func change(_ random: inout SplitMix64) throws -> TreeChange? {
        let source = try paths(inTrash: false).randomElement(using: &random).map { try RelativePath($0) }
        let folder = random.next() % 2 == 0 ? "" : (Self.folders.randomElement(using: &random) ?? "m") + "/"
        let target = try RelativePath(folder + (["x", "y"] + mix.names.prefix(2))[Int(random.next() % 3)])
        let replaces = random.next() % 3 == 0
        let time = Timestamp(seconds: 1_500_000_000 + Int64(random.next() % 1_000), nanoseconds: 1)
        let attributes = TreeChange.Attributes(
            permissions: random.next() % 2 == 0 ? 0o640 : nil, modified: random.next() % 2 == 0 ? time : nil, extra: nil
        )
        switch random.next() % 6 {
        case 0: return .folder(target, replaces: replaces, nil)
        case 1: return .link(target, to: Array("x".utf8), replaces: replaces, nil)
        case 2: return source.map { .set($0, attributes) }
        default: return source.map { .move($0, to: target, replaces: replaces) }
        }
    }

    func discard(_ step: Step, _ node: ClusterNode) throws {
        guard let path = try paths(inTrash: false).randomElement(step.b).map({ try RelativePath($0) }) else { return }
        try perform([.discard(path, isRecursive: step.c % 8 > 0)], node)
    }

    /// Moves something from the trash to its former path.
    func restore(_ step: Step, _ node: ClusterNode) throws {
        let trashed = paths(inTrash: true).filter { $0.split(separator: "/").count > 3 }
        guard let path = trashed.randomElement(step.b), let place = RelativePath(stored: path) else { return }
        let target = path.split(separator: "/").dropFirst(3).joined(separator: "/")
        try perform([.move(place, to: try RelativePath(target), replaces: step.c % 2 == 0)], node)
    }

    private func perform(_ changes: [TreeChange], _ node: ClusterNode) throws {
        guard let intake = node.intake, let store = node.store, let operation = node.operation, !changes.isEmpty else {
            return
        }
        for change in changes {
            operation.permissions.append(.replace(change.path.string))
            switch change {
            case .move(let path, let target, _, _):
                operation.permissions += [.tree(path.string), .replace(target.string)]
            case .discard(let path, _, _): operation.permissions.append(.tree(path.string))
            default: break
            }
        }
        let making = TreeChanges(intake, store, trash: newTrash(), keepsReplaced: mix.keepsReplaced)
        let results = making.perform(changes)
        guard !node.isDead else { return }
        for (change, result) in zip(changes, results) {
            say("\(change): \(result)")
            guard case .success = result else { continue }
            done.insert(Operation(change))
            // The client must not lose the change in a fail-over, whichever server has made it.
            let numbers = history.numbers(at: change.path.string, since: operation.began)
            guard history.held(since: operation.began, { change.isMade(in: $0, with: numbers) }) else {
                throw Promises.Broken("a change by \(operation.name) was answered, and is not made, or not safe")
            }
        }
    }

    // MARK: Removals and copies

    /// A client removes a file, a folder or a trash batch for good.
    func remove(_ step: Step, _ node: ClusterNode) throws {
        guard let intake = node.intake, let store = node.store, let operation = node.operation else { return }
        let places = paths(inTrash: step.c % 2 == 0).filter { $0 != Medium.trash }
        guard let text = places.randomElement(step.b), let path = RelativePath(stored: text) else { return }
        operation.permissions.append(.tree(text))
        let removals = StoredRemovals(intake, store)
        do throws(Failure) {
            let removal = try removals.begin(path, isRecursive: true)
            var gone: UInt64 = 0
            while try !removals.goOn(removal, gone: &gone) {}
            try removals.commit()
        } catch {
            return say("\(path) is not removed: \(error)")
        }
        guard !node.isDead else { return }
        done.insert(step.c % 2 == 0 ? .emptyTrash : .remove)
        say("\(path) is removed")
        guard history.held(since: operation.began, { $0.node(at: text) == nil }) else {
            throw Promises.Broken("a removal was answered, and is not made, or not safe")
        }
    }

    /// Copies a file, as the server does for a client: the copy shares the objects of the file.
    func copy(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        guard let intake = node.intake, let store = node.store, let operation = node.operation else { return }
        let files = history.files.filter { $0.value.path.map { !$0.hasPrefix(Medium.own) } ?? false }
            .sorted { $0.value.path ?? "" < $1.value.path ?? "" }
        guard let (number, file) = files.randomElement(step.b), let source = file.path else { return }
        copied.insert(file.content)
        let target = mix.names[Int(step.c >> 8) % mix.names.count]
        let replaces = step.c >> 16 % 2 == 0
        if replaces { operation.permissions.append(.replace(target)) }
        let bytes = contents[file.content]
        let began = history.moment
        do throws(Failure) {
            guard let from = RelativePath(stored: source), let path = RelativePath(stored: target) else { return }
            let content = try store.reader().open(from)
            let staged = try store.stage(
                id: .random(), size: UInt64(bytes.count), filled: nil, permissions: nil, quota: nil)
            // Another server may have replaced the file a moment ago, by content of the same size.
            guard content.attributes.version.object == number, try content.share(with: staged) else { return }
            var publication = Publication(
                staged: staged, id: .random(), path: path, size: UInt64(bytes.count),
                digest: SimulatedGround.digest(of: bytes, .xxh128), conflict: replaces ? .overwrite : .fail)
            if mix.keepsReplaced { publication.trash = newTrash() }
            let caller = session.intake.caller
            guard let place = try intake.publish(copy: publication, .file, for: caller, begun: clock.stamp())?.path
            else {
                return
            }
            guard !node.isDead else { return }
            say("\(source) was copied to \(place)")
            done.insert(.copy)
            let found = history.file(file.content, at: place.string, since: began)
            if found.isThere, found.isSafe { return }
        } catch {
            return say("\(source) is not copied to \(target): \(error)")
        }
        if !node.isDead { throw Promises.Broken("a copy of \(source) was answered, and is not there or not safe") }
    }
}

extension TreeChange {
    /// Whether rows are as the change makes them. Another change of the same batch may have made something new at a path
    /// that was moved.
    ///
    /// - Parameter before: the nodes that the path of the change has had since the batch began.
    fileprivate func isMade(in rows: ModelRows, with before: Set<UInt64>) -> Bool {
        let node = rows.node(at: path.string)
        switch self {
        case .folder: return node?.isFolder == true
        case .link(_, let text, _, _, _): return node?.target == text
        case .set(_, let attributes, _):
            guard let node, node.target == nil else { return node != nil }
            return node.permissions == attributes.permissions ?? node.permissions
                && node.modified == attributes.modified ?? node.modified
        case .move(_, let target, _, _):
            return rows.node(at: target.string).map { before.contains($0.number) } ?? false
        case .discard: return before.contains { $0 != node?.number }
        // A cluster has none.
        case .hardLink: return false
        }
    }
}
