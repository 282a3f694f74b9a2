import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// Gives one publication its path in a view of the tree, or throws the reason why it cannot. Nothing is written yet.
struct PublicationStep {
    let publication: Publication
    /// Where the bytes of the publication are by now.
    let content: PlacedContent
    let new: NewFile
    let mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    let store: ClusterStore

    /// The identity of the file, if the publication makes one.
    struct NewFile {
        let number: UInt64
        /// UTC, in nanoseconds since 1970.
        let moment: Int64
    }

    /// The file that a publication has replaced.
    struct Replaced {
        /// The path that loses its file.
        let path: RelativePath
        /// The file in the trash; nil if it is removed for good.
        let kept: KeptFile?
        /// Bytes that the removed file frees.
        let freed: UInt64

        /// Where the file is afterwards: in the trash, or nowhere.
        var place: RelativePath { kept?.place ?? path }
    }

    /// The outcome, and what was replaced for it.
    struct Result {
        let outcome: PublicationOutcome
        var replaced: Replaced?
    }

    func place(in view: inout TreeView) throws(ViewError) -> Result {
        try view.makeFolder(publication.path.parent)
        if let condition = publication.condition { return try place(if: condition, in: &view) }
        var path = publication.path
        for number in 1...ConflictPolicy.mostNumbers {
            guard let there = try view.looking(at: path) else {
                return Result(outcome: .committed(path, try give(path, in: &view)))
            }
            if let result = try compare(there, path, in: &view) { return result }
            switch publication.conflict {
            case .keepBoth: path = try numbered(number)
            case .skip: return Result(outcome: .skipped)
            case .fail: throw .failure(.isTaken(path))
            case .overwrite: return try replace(there, path, in: &view)
            }
        }
        throw .failure(
            Failure(.pathConflict, "\(publication.path) and all its numbered names exist already."))
    }

    private func place(if condition: PublicationCondition, in view: inout TreeView) throws(ViewError) -> Result {
        let path = publication.path
        let there = try view.looking(at: path)
        guard there?.target == nil else { throw .failure(.conditionFails) }
        try failing { () throws(Failure) in try condition.check(there?.attributes) }
        guard let there else { return Result(outcome: .committed(path, try give(path, in: &view))) }
        guard !there.isFolder else { throw .failure(.isDirectory(path)) }
        if let result = try compare(there, path, in: &view) { return result }
        guard publication.conflict == .overwrite else { throw .failure(.isTaken(path)) }
        return try replace(there, path, in: &view)
    }

    /// Checks whether the file at the path has the content of the publication already. A file that had the content when
    /// it was acknowledged, and is marked as rotten since, is replaced.
    private func compare(
        _ there: NodeRow, _ path: RelativePath, in view: inout TreeView
    ) throws(ViewError) -> Result? {
        guard let file = there.file, file.size == publication.size,
            publication.digest(like: file.digest) == file.digest
        else { return nil }
        if file.isRotten {
            view.remove(there)
            let version = try give(path, in: &view)
            return Result(outcome: .healed(path, version), replaced: Replaced(path: path, kept: nil, freed: file.size))
        }
        guard publication.mayCompare?(path, there.version) ?? true else { return nil }
        note(there.version)
        return Result(outcome: .alreadyStored(path, there.version))
    }

    private func replace(_ there: NodeRow, _ path: RelativePath, in view: inout TreeView) throws(ViewError) -> Result {
        guard !there.isFolder else { throw .failure(.isDirectory(path)) }
        try failing { () throws(Failure) in
            try store.rules.withLock { (rules) throws(Failure) in try rules.check(publication, there, path) }
            try publication.compared?.check(there.version, isFolder: false, hasOtherNames: false, publication.path)
            try publication.checkVersion(there.version)
            guard let mayReplace else { return }
            guard let version = there.fileVersion, try mayReplace(path, version) else { throw .mayNotReplace(path) }
        }
        var replaced = Replaced(path: path, kept: nil, freed: there.file?.size ?? 0)
        if let trash = publication.trash {
            replaced = Replaced(path: path, kept: try view.keep(there, at: path, in: trash), freed: 0)
        } else {
            view.remove(there)
        }
        return Result(outcome: .committed(path, try give(path, in: &view)), replaced: replaced)
    }

    /// Makes the file of the publication.
    private func give(_ path: RelativePath, in view: inout TreeView) throws(ViewError) -> ContentVersion {
        let mode = (publication.permissions ?? 0o666) & 0o777
        let file = FileRow(
            size: publication.size, digest: publication.digest, content: content.bytes,
            command: publication.conflict == .overwrite ? publication.command?.id : nil)
        var node = NodeRow(
            new.number, .file(file), permissions: publication.keepsPermissions ? mode : mode & ~ClusterStore.umask,
            at: new.moment)
        if let modified = publication.modified { (node.modified, node.hasGivenTime) = (modified, true) }
        if let extra = publication.attributes { node.extra = extra }
        try view.give(path, to: node, content.extents)
        note(node.version)
        return node.version
    }

    /// Notes the file for the command of the publication, which must not replace the file by another one.
    private func note(_ file: ContentVersion) {
        guard publication.conflict == .overwrite else { return }
        store.rules.withLock { $0.commands.add(file, of: publication.command, at: publication.path) }
    }

    private func numbered(_ number: Int) throws(ViewError) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try publication.path.numbered(number)
        } catch {
            throw .failure(
                Failure(
                    .pathConflict,
                    "\(publication.path) exists already, and no numbered name is possible: \(error.message)"))
        }
    }

    private func failing(_ body: () throws(Failure) -> Void) throws(ViewError) {
        do throws(Failure) { try body() } catch { throw .failure(error) }
    }
}

extension Publication {
    /// The digest of the content by the function of another digest; nil if the content cannot be read.
    fileprivate func digest(like other: Digest) -> Digest? {
        guard digest.algorithm != other.algorithm else { return digest }
        let function = other.algorithm.function
        guard size > UInt64(Limits.blockSize) else {
            return content.digest(of: 0..<size, function).map { Digest(function.plain, $0) }
        }
        var blocks: [UInt8] = []
        var start: UInt64 = 0
        while start < size {
            let end = min(size, start + UInt64(Limits.blockSize))
            guard let block = content.digest(of: start..<end, function) else { return nil }
            blocks += block
            start = end
        }
        return ContentDigester.digest(function, size: size, ofBlocks: blocks)
    }
}

/// What this server remembers of commands of clients, so that they do not replace what they have stored themselves, and
/// so that content of a lost connection does not replace what a newer one has stored. It is lost with the server.
///
/// Other servers see the command of a file in its row (`FileRow.command`).
struct CommandRules: Sendable {
    var overwrites = Overwrites()
    var commands = CommandFiles()

    /// - Throws: `aborted`, or `pathConflict` if the command of the publication has stored the file that it would replace.
    func check(_ publication: Publication, _ there: NodeRow, _ path: RelativePath) throws(Failure) {
        try overwrites.check(publication)
        try check(there, publication.command, path)
    }

    /// - Throws: `pathConflict` if the command has stored or moved the file that it would replace.
    func check(_ there: NodeRow, _ command: StoringCommand?, _ path: RelativePath) throws(Failure) {
        guard let command, let file = there.file else { return }
        if let other = try commands.check(there.version, hasOtherNames: false, command, path) {
            throw .ownFile(other)
        }
        // A file that another server has stored for the same command has kept its path, unless the command has moved
        // it, which only its own server knows.
        guard file.command == command.id, !command.mayRepeat else { return }
        throw .ownFile(path)
    }
}
