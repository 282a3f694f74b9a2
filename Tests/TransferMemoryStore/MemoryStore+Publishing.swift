package import TransferModel
package import TransferPorts
import TransferSystem

extension MemoryStore {
    package func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        let outcomes = batch.map { publication in
            medium.letOthersIn()
            let outcome = Result { () throws(Failure) in
                try publish(publication, acknowledged: acknowledged, mayReplace: mayReplace)
            }
            let staged = publication.content as? MemoryStaged
            if outcome.isFinal { staged?.discard() } else { staged?.discardUnlessResumable() }
            return outcome
        }
        return PublishedBatch(outcomes: outcomes)
    }

    private func publish(
        _ publication: Publication, acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) throws(Failure) -> PublicationOutcome {
        guard let staged = publication.content as? MemoryStaged else {
            throw Failure(.storageFailed, "The content was staged in another store.")
        }
        let step = PublicationStep(
            publication: publication, staged: staged, bytes: staged.part.bytes, acknowledged: acknowledged,
            mayReplace: mayReplace)
        return try with { (state) throws(Failure) in
            medium.before.withLock { $0 = state.tree.isFollowed ? state : nil }
            defer { medium.before.withLock { $0 = nil } }
            if publication.conflict == .overwrite, let sender = publication.sender {
                state.rules.overwrites.announce(publication.path, sender.connection)
            }
            let outcome = try step.place(&state)
            if let id = staged.resumableID, state.parts[id] === staged.part { state.parts[id] = nil }
            return outcome
        }
    }
}

/// Gives one publication its path, or throws the reason why it cannot.
private struct PublicationStep {
    let publication: Publication
    let staged: MemoryStaged
    let bytes: PagedBytes
    let acknowledged: (RelativePath, ContentVersion) -> Digest?
    let mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?

    typealias State = MemoryMedium.State

    func place(_ state: inout State) throws(Failure) -> PublicationOutcome {
        try state.tree.makeFolder(publication.path.parent)
        if let condition = publication.condition { return try place(if: condition, &state) }
        var path = publication.path
        for number in 1...ConflictPolicy.mostNumbers {
            guard let there = state.tree.node(at: path) else { return .committed(path, try take(path, &state)) }
            if let outcome = try compare(there, path, &state) { return outcome }
            switch publication.conflict {
            case .keepBoth: path = try numbered(number)
            case .skip: return .skipped
            case .fail: throw .isTaken(path)
            case .overwrite: return .committed(path, try replace(there, path, &state))
            }
        }
        throw Failure(.pathConflict, "\(publication.path) and all its numbered names exist already.")
    }

    private func place(if condition: PublicationCondition, _ state: inout State) throws(Failure) -> PublicationOutcome {
        let path = publication.path
        let there = state.tree.node(at: path)
        guard there?.target == nil else { throw .conditionFails }
        try condition.check(there?.attributes)
        guard let there else { return .committed(path, try take(path, &state)) }
        guard !there.isFolder else { throw .isDirectory(path) }
        if let outcome = try compare(there, path, &state) { return outcome }
        guard publication.conflict == .overwrite else { throw .isTaken(path) }
        return .committed(path, try replace(there, path, &state))
    }

    /// Checks whether the file at the path has the content of the publication already. A file that had the content when
    /// it was acknowledged, but is damaged now, is replaced.
    private func compare(
        _ there: MemoryTree.Node, _ path: RelativePath, _ state: inout State
    ) throws(Failure) -> PublicationOutcome? {
        guard let found = there.bytes, found.size == publication.size else { return nil }
        if publication.mayCompare?(path, there.version) ?? true, found.isSame(as: bytes) {
            note(there.version, &state)
            return .alreadyStored(path, there.version)
        }
        guard let digest = acknowledged(path, there.version), digest == bytes.digest(digest.algorithm.function),
            digest != found.digest(digest.algorithm.function)
        else { return nil }
        let freed = there.freed
        state.tree.take(path)
        return .healed(path, try give(path, replacing: freed, kept: nil, &state))
    }

    private func take(_ path: RelativePath, _ state: inout State) throws(Failure) -> ContentVersion? {
        try give(path, replacing: nil, kept: nil, &state)
    }

    private func replace(
        _ there: MemoryTree.Node, _ path: RelativePath, _ state: inout State
    ) throws(Failure) -> ContentVersion? {
        try state.rules.overwrites.check(publication)
        guard !there.isFolder else { throw .isDirectory(path) }
        try publication.compared?.check(
            there.version, isFolder: false, hasOtherNames: there.names > 1, publication.path)
        try publication.checkVersion(there.version)
        try state.check(there, publication.command, path)
        if let mayReplace {
            guard let file = there.fileVersion, try mayReplace(path, file) else { throw .mayNotReplace(path) }
        }
        guard let part = publication.trash else {
            let freed = there.freed
            state.tree.take(path)
            return try give(path, replacing: freed, kept: nil, &state)
        }
        let kept = try state.tree.keep(there, at: path, in: part)
        return try give(path, replacing: 0, kept: kept, &state)
    }

    private func give(
        _ path: RelativePath, replacing old: UInt64?, kept: KeptFile?, _ state: inout State
    ) throws(Failure) -> ContentVersion? {
        let mode = (publication.permissions ?? 0o666) & 0o777
        let number = state.tree.make(
            .file(bytes), permissions: publication.keepsPermissions ? mode : mode & ~MemoryStore.umask)
        try state.tree.give(path, to: number)
        state.tree.set(number, permissions: nil, modified: publication.modified, publication.attributes)
        let version = state.tree.node(number)?.version
        note(version, &state)
        staged.published(replacing: old, kept: kept)
        return version
    }

    /// Notes the file for the command of the publication, which must not replace the file by another one.
    private func note(_ file: ContentVersion?, _ state: inout State) {
        guard publication.conflict == .overwrite else { return }
        state.rules.commands.add(file, of: publication.command, at: publication.path)
    }

    private func numbered(_ number: Int) throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try publication.path.numbered(number)
        } catch {
            throw Failure(
                .pathConflict, "\(publication.path) exists already, and no numbered name is possible: \(error.message)")
        }
    }
}

extension MemoryStore {
    /// Permission bits that new files do not get, unless the publication keeps its permissions.
    static let umask: UInt16 = 0o022
}

extension MemoryTree {
    /// Moves a replaced file or link to the trash, into a batch in which its place is free.
    mutating func keep(_ there: Node, at path: RelativePath, in part: OpenTrashBatch) throws(Failure) -> KeptFile {
        while true {
            let batch = part.current
            let place = RelativePath.trash(batch, path)
            guard node(at: place) == nil else {
                part.renew(behind: batch)
                continue
            }
            return try keep(there, at: path, place, batch)
        }
    }

    /// Moves a replaced file or link to a place in the trash that was chosen before.
    mutating func keep(
        _ there: Node, at path: RelativePath, _ place: RelativePath, _ batch: TrashBatch
    ) throws(Failure) -> KeptFile {
        guard node(at: place) == nil else { throw .taken(place) }
        try makeFolder(place.parent)
        try give(place, to: there.number)
        take(path)
        let versions = there.fileVersion.flatMap { before in
            node(there.number).map { KeptFile.Versions(before: before, after: $0.version) }
        }
        return KeptFile(place: place, in: batch, version: versions)
    }
}
