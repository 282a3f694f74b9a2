import TransferModel
import TransferProtocol
import TransferSystem

/// Creates the entries of a plan. A new folder is never more accessible than its source, and gets its times last, the
/// innermost first, because every entry created in it changes its time.
final class TreeCopyRun: Sendable {
    private let copy: TreeCopy
    private let keepsOwners: Bool
    private let lastAnswer = Locked<ChangeReport?>(nil)

    /// Folders that could not be created, with the reasons.
    private let unmade = Locked<[RelativePath: (ResultCode, String)]>([:])

    init(_ copy: TreeCopy, keepsOwners: Bool) {
        (self.copy, self.keepsOwners) = (copy, keepsOwners)
    }

    func make(_ plan: TreeCopyPlan) async throws(TransferFailure) {
        var target = RemoteTarget(client: copy.client, keepsOwners: keepsOwners)
        target.answered = { [self] answer in lastAnswer.withLock { $0 = answer } }
        try await makeFolders(plan.folders)
        try await copyFiles(plan.files, to: target)
        try await target.makeLinks(plan.links.filter { isPossible(.link, $0) }, replaces: copy.replaces) {
            [self] link, result, message in
            tell(.link, link, result, message)
        }
        let made = plan.folders.reversed().filter { folder in unmade.withLock { $0[folder.path] == nil } }
        try await target.set(made) { [self] folder, result, message in
            let fault = Self.fault(of: folder, result, message)
            tell(.folder, folder, fault?.code ?? result, fault?.message ?? message)
        }
    }

    /// Creates folders with permissions. A client that may not set permissions creates only those that are open to
    /// everyone.
    private func makeFolders(_ folders: [SyncEntry]) async throws(TransferFailure) {
        var open: [SyncEntry] = []
        for folder in try await refused(folders, hasPermissions: true) where isPossible(.folder, folder) {
            if folder.permissions & Self.everybody == Self.everybody {
                open.append(folder)
            } else {
                fail(
                    folder, .forbidden,
                    "It has restricted permissions, and this client may not set the permissions of folders.")
            }
        }
        for folder in try await refused(open, hasPermissions: false) {
            fail(folder, .forbidden, "This client may not create folders.")
        }
    }

    /// The permissions for group and others that a folder gets if the request to create it states no permissions.
    private static let everybody: UInt16 = 0o055

    /// Creates folders, and reports all failures but `forbidden`.
    ///
    /// - Returns: the folders that the client may not create in this way.
    private func refused(_ folders: [SyncEntry], hasPermissions: Bool) async throws(TransferFailure) -> [SyncEntry] {
        guard !folders.isEmpty else { return [] }
        var refused: Set<RelativePath> = []
        let answers = copy.client.change(folders.map(\.path.string)) { path, index in
            let permissions = hasPermissions ? folders[index].openPermissions : nil
            return .make(MakeRequest(.directory, path: path, permissions: permissions))
        }
        let found = Dictionary(folders.map { (PathKey($0.path.string), $0) }) { first, _ in first }
        for try await answer in answers where answer.result != .completed {
            guard let folder = found[PathKey(answer.path)] else { continue }
            if answer.result == .forbidden {
                refused.insert(folder.path)
            } else {
                fail(folder, answer.result, answer.message)
            }
        }
        return folders.filter { refused.contains($0.path) }
    }

    private func fail(_ folder: SyncEntry, _ result: ResultCode, _ message: String) {
        unmade.withLock { $0[folder.path] = (result, message) }
        copy.tell(.folder, folder.path.string, result, message)
    }

    /// What a created folder lacks; nil if it is complete.
    private static func fault(of folder: SyncEntry, _ result: ResultCode, _ message: String) -> Failure? {
        guard result == .completed else {
            return Failure(
                result,
                "The folder was created, but the permissions and times of its source could not be set. \(message)"
            )
        }
        guard folder.isPartial else { return nil }
        return Failure(
            .unsuitable,
            "The folder was created without its extended attributes: they have more than "
                + "\(ExtraAttributes.mostBytes) bytes, or the server may not read them.")
    }

    private func tell(_ form: EntryForm, _ entry: SyncEntry, _ result: ResultCode, _ message: String) {
        copy.tell(form, entry.path.string, result, message, lastAnswer.withLock { $0 })
    }

    /// Whether all folders above an entry exist. If one of them could not be created, the entry is reported as failed
    /// and not requested, because the server would create the folder with permissions for everyone.
    private func isPossible(_ form: EntryForm, _ entry: SyncEntry) -> Bool {
        let fault = unmade.withLock { unmade in entry.path.folders.lazy.compactMap { unmade[$0] }.first }
        guard let (code, message) = fault else { return true }
        copy.tell(form, entry.path.string, code, "A folder that contains it could not be created. \(message)")
        return false
    }
}

// MARK: Files

extension TreeCopyRun {
    /// Copies files. If a file has several names, the first possible one is copied, and the others become names of the
    /// copy.
    private func copyFiles(_ files: [TreeCopyPlan.File], to target: RemoteTarget) async throws(TransferFailure) {
        var groups: [SyncEntry.NamedFile: [TreeCopyPlan.File]] = [:]
        for file in files { if let named = file.entry.named { groups[named, default: []].append(file) } }
        var seen: Set<SyncEntry.NamedFile> = []
        var next = files.filter { file in file.entry.named.map { seen.insert($0).inserted } ?? true }
        var links: [SyncPlan.HardLink] = []
        while !next.isEmpty {
            let failed = try await copied(next)
            var others: [TreeCopyPlan.File] = []
            for file in next {
                guard let named = file.entry.named, let group = groups[named] else { continue }
                let rest = Array(group.dropFirst())
                groups[named] = rest
                if !failed.contains(file.entry.path) {
                    links += rest.map { SyncPlan.HardLink(entry: $0.entry, first: file.entry.path) }
                } else if let other = rest.first {
                    others.append(other)
                }
            }
            next = others
        }
        links = links.filter { isPossible(.hardLink, $0.entry) }
        try await target.makeHardLinks(links, replaces: copy.replaces) { [self] link, result, message in
            tell(.hardLink, link.entry, result, message)
        }
    }

    /// - Returns: the paths of files that were not copied.
    private func copied(_ files: [TreeCopyPlan.File]) async throws(TransferFailure) -> Set<RelativePath> {
        let possible = files.filter { isPossible(.file, $0.entry) }
        var missing = Set(files.map(\.entry.path))
        guard !possible.isEmpty else { return missing }
        let context = copy.client.requestContext
        let answers = copy.client.change(possible.map(\.entry.path.string)) { path, index in
            let (source, entry) = (possible[index].source, possible[index].entry)
            // Attributes that could not be listed are not sent; the server refuses the copy if it cannot keep them.
            let attributes = keepsOwners && !entry.isPartial ? entry.extra : nil
            return .make(
                MakeRequest(
                    .copy, path: path, target: Array(context.remote(source).utf8), replaces: copy.replaces,
                    permissions: copy.isRecursive ? entry.permissions : nil, attributes: attributes))
        }
        for try await answer in answers {
            copy.tell(.file, answer.path, answer.result, answer.message, answer)
            if answer.result == .completed, let path = try? RelativePath(answer.path) { missing.remove(path) }
        }
        return missing
    }
}
