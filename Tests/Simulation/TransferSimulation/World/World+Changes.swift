import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Changes of names, folders and attributes by callers, including moves to the trash.
extension World {
    /// Folders that changes make, in addition to those of uploads.
    private static let folders = ["d", "e", "m", "m/n"]

    /// Makes several changes in one batch.
    func rearrange(_ step: Step) throws {
        var random = SplitMix64(seed: UInt64(step.c) << 32 | UInt64(step.b))
        var changes: [TreeChange] = []
        for _ in 0..<1 + random.next() % 4 {
            guard let change = try change(&random) else { continue }
            changes.append(change)
            // The generator does not know whether later changes would find two names of one file.
            if case .hardLink = change { break }
        }
        try perform(
            step, step.c >> 26 % 4 == 0 ? changes.map { compared($0, isOther: step.c >> 28 % 2 == 0) } : changes)
    }

    /// A move by a caller that has looked at the source, which may be another file by now.
    private func compared(_ change: TreeChange, isOther: Bool) -> TreeChange {
        guard case .move(let path, let target, let replaces, _) = change else { return change }
        let version = isOther ? FileVersion.none : (try? store?.object(at: path))?.version.told
        return .move(path, to: target, replaces: replaces, of: version)
    }

    private func change(_ random: inout SplitMix64) throws -> TreeChange? {
        let files = disk.medium.seenNames
        let source = try files.randomElement(using: &random).map { try RelativePath($0) }
        let target = try target(&random)
        let replaces = random.next() % 3 == 0
        let time = Timestamp(seconds: 1_500_000_000 + Int64(random.next() % 1_000), nanoseconds: 1)
        let attributes = TreeChange.Attributes(
            permissions: random.next() % 2 == 0 ? 0o640 : nil, modified: random.next() % 2 == 0 ? time : nil, extra: nil
        )
        let hasAttributes = random.next() % 4 == 0
        switch random.next() % 8 {
        case 0:
            let folder = try Self.folders.randomElement(using: &random).map { try RelativePath($0) }
            let isLink = random.next() % 3 == 0
            let given = hasAttributes ? attributes : nil
            if isLink { return .link(target, to: Array("x".utf8), replaces: replaces, given) }
            return folder.map { .folder($0, replaces: replaces, given) }
        case 1: return source.map { .hardLink(target, to: $0, replaces: replaces, hasAttributes ? attributes : nil) }
        case 2: return source.map { .set($0, attributes) }
        case 3:
            let folder = try disk.medium.seenDirectories.randomElement(using: &random).map { try RelativePath($0) }
            return folder.map { .move($0, to: target, replaces: replaces) }
        default: return source.map { .move($0, to: target, replaces: replaces) }
        }
    }

    private func target(_ random: inout SplitMix64) throws -> RelativePath {
        let name = mix.names.randomElement(using: &random) ?? "a"
        guard random.next() % 2 == 0 else { return try RelativePath(name) }
        let folders = Self.folders + (mix.hasSecondDisk ? [Medium.mount] : [])
        let folder = folders.randomElement(using: &random) ?? "m"
        return try RelativePath("\(folder)/\(["x", "y"][Int(random.next() % 2)])")
    }

    func discard(_ step: Step) throws {
        let places = disk.medium.seenNames + disk.medium.seenDirectories
        guard let path = try places.randomElement(step.b).map({ try RelativePath($0) }) else { return }
        try perform(step, [.discard(path, isRecursive: step.c >> 20 % 8 > 0)])
    }

    /// Moves a file or folder from the trash to its former path or to another one.
    func restore(_ step: Step) throws {
        guard let trashed = disk.medium.trashedPaths.keys.sorted().randomElement(step.b),
            let place = RelativePath(stored: trashed)
        else { return }
        let parts = trashed.split(separator: "/")
        let before = parts.dropFirst(3).joined(separator: "/")
        let target = step.c >> 20 % 4 == 0 ? mix.names[Int(step.b) % mix.names.count] : before
        try perform(step, [.move(place, to: try RelativePath(target), replaces: step.c >> 22 % 2 == 0)])
    }

    private func perform(_ step: Step, _ changes: [TreeChange]) throws {
        guard busy == nil, let session = session(step.a), let intake, let store, !changes.isEmpty else { return }
        if step.c >> 4 % 4 == 0 { records.mayDie(step.c >> 6) }
        (changing, moves, misplaced) = (changes, [], findMisplaced())
        defer { (changing, moves, misplaced, changer) = ([], [], [], nil) }
        var results: [Result<TreeChange.Done, Failure>] = []
        let making = TreeChanges(intake, store, trash: newTrash(), keepsReplaced: mix.keepsReplaced)
        if mix.hasCommands {
            making.command = session.intake.run.map { StoringCommand(id: $0) }
            making.grant = session.intake.caller.grant
            changer = session
        }
        try letOthersIn(step, session) { results = making.perform(changes) }
        records.mayLive()
        if !disk.isDead { disk.change { $0.keepLosses() } }
        try noteNames()
        for (change, result) in zip(changes, results) {
            let hasFailed = if case .failure = result { true } else { false }
            trace.add(hasFailed ? 1 : 0)
            if options.tells { print("    \(change): \(result)") }
            guard !disk.isDead, !hasFailed else { continue }
            done.insert(Operation(change))
            switch change {
            case .move(let path, _, _, FileVersion.none?):
                throw Promises.Broken("\(path) has moved, and has another version than was asked for")
            case .move(let path, let target, _, _):
                let objects = objects(movedFrom: path.string, to: target.string)
                try promises.answered(objects, at: target.string, disk.medium)
                durableDirectories.formUnion(Self.parents(of: target.string))
            case .discard(let path, _, _):
                let objects = objects(movedFrom: path.string, to: Medium.trash)
                try promises.answered(objects, at: Medium.trash, disk.medium)
                durableDirectories.insert(Medium.trash)
            case .folder(let path, _, _, _): durableDirectories.formUnion(Self.parents(of: path.string + "/x"))
            case .hardLink(let path, let source, _, _, _):
                durableDirectories.formUnion(Self.parents(of: path.string))
                forgetUnrecorded(at: source.string)
            case .set(let path, _, _): forgetUnrecorded(at: path.string)
            case .link: break
            }
        }
    }

    /// Files that the catalog records only under paths where they are not. They were in the trash, and other files had
    /// taken their paths, when a server was killed before it could record that (docs/design/store.md, The trash).
    private func findMisplaced() -> Set<Medium.Object> {
        let names = disk.medium.seenPaths.merging(disk.medium.trashedPaths) { a, _ in a }
        let paths = Dictionary(grouping: names.keys) { names[$0] }
        return Set(
            names.values.filter { object in
                let known = records.paths(of: UInt64(object))
                return !known.isEmpty && Set(known).isDisjoint(with: paths[object] ?? [])
            })
    }

    /// A numbered trash batch, for everything that one connection discards.
    func newTrash() -> OpenTrashBatch {
        OpenTrashBatch(utc: { 0 }) { [unowned self] _ in
            trashBatches += 1
            return TrashBatch(at: 0, number: trashBatches)
        }
    }

    /// Files that a change of this step has moved, alone or with their folder.
    private func objects(movedFrom path: String, to target: String) -> Set<Medium.Object> {
        func isBelow(_ place: String, _ folder: String) -> Bool { place == folder || place.hasPrefix(folder + "/") }
        return Set(moves.filter { isBelow($0.path, path) && isBelow($0.target, target) }.map(\.object))
    }

    /// Records the effect of a change of this step on a name, other than a move: a file has got another name, or has
    /// given way.
    func noteChanging(_ naming: SimulatedDisk.Naming) {
        guard naming.moves.isEmpty, !naming.isRenamed else { return }
        for change in changing where change.path.string == naming.path {
            switch change {
            case .hardLink where naming.object != nil:
                guard let object = naming.object, disk.medium.seen(of: object) != nil else { continue }
                hasLinked = true
                if let content = disk.medium.seen(of: object).flatMap(number) { copied.insert(content) }
                for (name, other) in disk.medium.seenPaths where other == object {
                    foreign[naming.path, default: []].formUnion(foreign[name] ?? [])
                }
                arrivals[naming.path] = promises.changes + 1
                // The disk loses a content under all names of the file.
                rotten[naming.path] = disk.medium.seenPaths.first { $0.value == object && rotten[$0.key] != nil }
                    .flatMap { rotten[$0.key] }
                if rotten[naming.path] != nil { promises.changed(naming.path) }
                promises.linked(object, at: naming.path)
                if naming.replacedObject != object { giveWay(naming) }
            // A folder takes the place of a file, or one of two names of a file goes.
            case .folder where naming.object == nil, .move where naming.object == nil: giveWay(naming)
            case .hardLink, .folder, .set, .move, .discard, .link: continue
            }
        }
    }

    private func giveWay(_ naming: SimulatedDisk.Naming) {
        guard let object = naming.replacedObject, disk.medium.seen(of: object) != nil else { return }
        promises.removed(naming.path, object)
        forgetAnswers(at: naming.path)
    }

    /// The catalog forgets uploads whose files are moved or give way, so their senders send them again.
    private func forgetAnswers(at path: String) {
        for index in uploads.indices where uploads[index].answer?.path == path { uploads[index].answer = nil }
    }

    /// If the catalog could not record an upload, the server knows the upload only until its file is changed. Then the
    /// sender sends the upload again.
    private func forgetUnrecorded(at path: String) {
        if records.hasFailed { forgetAnswers(at: path) }
    }

    /// Records that a file has another path.
    func note(_ move: SimulatedDisk.Move) {
        moves.append(move)
        arrivals[move.target] = promises.changes + 1
        let content = disk.medium.seen(of: move.object).flatMap(number)
        if let content { copied.insert(content) }
        rotten[move.target] = rotten.removeValue(forKey: move.path)
        touched[move.target] = touched.removeValue(forKey: move.path)
        foreign[move.target, default: []].formUnion(foreign[move.path] ?? [])
        // The command that moved a file last counts as the command that put the file at its path.
        if commandFiles[move.object]?.caller != changer?.caller { commandFiles[move.object] = nil }
        for path in [move.path, move.target] { forgetAnswers(at: path) }
        let number = UInt64(move.object)
        // The record of a misplaced file may have moved to the path of the file meanwhile, together with another file
        // that had the recorded path.
        let isMisplaced = misplaced.contains(move.object) && promises.known[move.object] == nil
        let isSaid = records.says(number, at: move.path) || records.says(number, at: move.target)
        // An upload that is about to be recorded is recorded under the path where it was stored.
        let isComing = (sessions.compactMap(\.self) + ghosts).contains { $0.intake.pipeline.isWaiting }
        promises.moved(move.object, from: move.path, to: move.target, isKnown: isSaid && !isMisplaced && !isComing)
        // The target may have had the same content before the disk lost it.
        if rotten[move.target] != nil { promises.changed(move.target) }
    }

    /// A client removes a file or folder for good, or empties a trash batch.
    func remove(_ step: Step) throws {
        guard busy == nil, let intake, let store else { return }
        let places = disk.medium.seenNames + disk.medium.seenDirectories
        let found = step.c >> 20 % 2 == 0 ? try? store.trash(below: nil) : nil
        let batches = (found ?? []).sorted { $0.name < $1.name }
        let batch = batches.randomElement(step.b).map { RelativePath.trash($0, nil) }
        guard let path = try batch ?? places.randomElement(step.b).map({ try RelativePath($0) }) else { return }
        for (name, object) in disk.medium.seenPaths.merging(disk.medium.trashedPaths, uniquingKeysWith: { a, _ in a })
        where name == path.string || name.hasPrefix(path.string + "/") {
            promises.removed(name, object)
            forgetAnswers(at: name)
        }
        let removals = StoredRemovals(intake, store)
        do throws(Failure) {
            try removeAll(of: path, removals)
            try removals.commit()
            done.insert(batch == nil ? .remove : .emptyTrash)
        } catch {
            trace.add(Int(error.code.rawValue))
        }
        // A failed removal leaves rotten files in place.
        for name in rotten.keys.sorted() where disk.medium.object(at: name) == nil { rotten[name] = nil }
        durableDirectories = durableDirectories.filter { $0 != path.string && !$0.hasPrefix(path.string + "/") }
        if !disk.isDead { disk.change { $0.keepLosses() } }
        try noteNames()
    }

    /// The removal object ends here, as in the server: its descriptors are closed before the commit, unless the remover
    /// keeps them.
    @inline(never)
    private func removeAll(of path: RelativePath, _ removals: StoredRemovals) throws(Failure) {
        let removal = try removals.begin(path, isRecursive: true)
        var gone: UInt64 = 0
        while try !removals.goOn(removal, gone: &gone) {}
    }

    /// After a start, the catalog must have each moved file under its present path, and under no other.
    func checkKnown() throws(Promises.Broken) {
        guard !records.hasFailed, !disk.isDead else { return }
        for (object, known) in promises.known.sorted(by: { $0.key < $1.key }) {
            let places = [known.path] + known.earlier.sorted()
            guard let place = places.first(where: { disk.medium.object(at: $0) == object }) else {
                promises.known[object] = nil
                continue
            }
            let names = known.names.filter { disk.medium.object(at: $0) == object }
            promises.known[object] = Promises.Known(
                path: place, earlier: Set(places).subtracting([place]), names: names)
            guard names.union([place]).contains(where: { records.says(UInt64(object), at: $0) }) else {
                throw Promises.Broken("\(place) was moved there, and the catalog does not know it")
            }
            // If another file has taken an earlier path, a record at that path may have moved with the other file: it
            // names the file that was at the other file's former path.
            for other in places where disk.medium.object(at: other) == nil && records.says(UInt64(object), at: other) {
                throw Promises.Broken("the catalog has \(place) still under \(other), where it was before it was moved")
            }
        }
    }
}
