import TransferIO
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// The local directory that a sync changes.
struct LocalTarget: SyncTarget {
    let client: TransferClient
    let destination: PullDirectory
    let keepsOwners: Bool
    /// Digests of files that the server has listed without one.
    let digests: [RelativePath: Digest]
    /// The plan. An entry that has changed since it was compared for the plan stays as it is. Nil if nothing was
    /// compared.
    var plan: SyncPlan?
    /// Whether a replaced file goes to the trash of this directory if no sync has seen its version.
    var keepsReplaced = false

    private var pool: BlockingPool { client.pool }

    /// The number of changes that are made durable together.
    private static let batch = 256

    var comparesContent: Bool { true }

    /// Does nothing: the directory was made when `destination` was opened.
    func makeTop(permissions: UInt16?) async throws(TransferFailure) {}

    func set(_ entries: [SyncEntry], _ report: @escaping SyncReport<SyncEntry>) async throws(TransferFailure) {
        await change(entries, report) { (editor, entry) throws(Failure) in try setAttributes(of: entry, editor) }
    }

    /// The version that may be replaced at a path; nil for any.
    private func expected(at path: RelativePath) -> ComparedFile? { plan.map { $0.compared(at: path) ?? .nothing } }

    private func setAttributes(of entry: SyncEntry, _ editor: TreeEditor) throws(Failure) {
        _ = try editor.set(
            entry.path, permissions: entry.isLink ? nil : entry.permissions, modified: entry.modified,
            entry.extra.keeping(owner: keepsOwners), of: entry.form.object,
            as: entry.isFile ? plan?.compared(at: entry.path) : nil)
        guard !entry.isPartial else { throw .untoldAttributes }
    }

    func tidy() async {
        let destination = destination
        await pool.run { destination.tidy() }
    }

    func setTop(_ top: SyncTree.Top, keepsOwner: Bool) async throws(TransferFailure) -> ChangeReport {
        let destination = destination
        return await pool.run {
            do throws(Failure) {
                try destination.setTop(
                    permissions: top.permissions, modified: top.modified, top.extra.keeping(owner: keepsOwner))
                guard !top.isPartial else { throw .untoldAttributes }
                return .done("")
            } catch {
                return ChangeReport(path: "", result: error.code, isDurable: false, message: error.message)
            }
        }
    }

    func unlock(_ folders: [SyncEntry]) async throws(TransferFailure) {
        await change(folders, { _, _, _ in }) { (editor, folder) throws(Failure) in
            _ = try editor.set(folder.path, permissions: folder.openPermissions, modified: nil, nil, of: .folder)
        }
    }

    func remove(
        _ removals: [SyncPlan.Removal], keepsInTrash: Bool, _ report: @escaping SyncReport<SyncPlan.Removal>
    ) async throws(TransferFailure) {
        let batch = TrashBatch.begun(at: utcNanoseconds())
        let trashed: @Sendable (SyncPlan.Removal) -> TreeEditor.Renaming? = { removal in
            keepsInTrash ? (removal.entry.path, .trash(batch, removal.entry.path)) : nil
        }
        await change(removals, report, renaming: trashed) { (editor, removal) throws(Failure) in
            do throws(Failure) {
                if keepsInTrash {
                    _ = try editor.move(
                        removal.entry.path, to: .trash(batch, removal.entry.path), as: plan?.compared(removal.entry))
                } else {
                    // The innermost first: a folder that still has an unknown entry stays.
                    for entry in removal.entries.reversed() {
                        try editor.remove(entry.path, of: entry.form.object, as: plan?.compared(entry))
                    }
                }
            } catch {
                // Another process has removed it already.
                if error.code != .notFound { throw error }
            }
        }
    }

    func makeFolders(
        _ folders: [SyncEntry], replacing links: Set<RelativePath>, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure) {
        await change(folders, report) { (editor, folder) throws(Failure) in
            try editor.makeDirectory(
                folder.path, replaces: links.contains(folder.path), as: expected(at: folder.path),
                permissions: folder.openPermissions)
        }
    }

    func move(_ moves: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure) {
        await change(moves, report, renaming: { ($0.from, $0.entry.path) }) { (editor, move) throws(Failure) in
            // The sync has not changed the file before this move, so the file's time of change must still be the
            // compared one.
            let compared =
                move.compared.map { plan?.compared($0) }
                ?? plan?.compared(at: move.entry.path).map { ComparedFile($0.version) }
            _ = try editor.move(move.from, to: move.entry.path, as: compared)
        }
    }

    /// Gives files a second name. A new name changes the file's time of change, so it is checked before whether the
    /// file was written to since the comparison.
    func keep(_ copies: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure) {
        await change(copies, report) { (editor, copy) throws(Failure) in
            _ = try editor.makeHardLink(
                copy.entry.path, to: copy.from, replaces: false, sourceAs: copy.compared.flatMap { plan?.compared($0) })
        }
    }

    func makeLinks(
        _ links: [SyncEntry], replaces: Bool, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure) {
        await change(links, report) { (editor, entry) throws(Failure) in
            guard case .link(let target) = entry.form else { return }
            try editor.makeLink(entry.path, to: target, replaces: replaces, as: expected(at: entry.path))
            try setAttributes(of: entry, editor)
        }
    }

    func makeHardLinks(
        _ links: [SyncPlan.HardLink], replaces: Bool, _ report: @escaping SyncReport<SyncPlan.HardLink>
    ) async throws(TransferFailure) {
        await change(links, report) { (editor, link) throws(Failure) in
            _ = try editor.makeHardLink(
                link.entry.path, to: link.first, replaces: replaces, as: expected(at: link.entry.path))
        }
    }

    func take(
        _ files: [SyncPlan.File], _ tell: @escaping @Sendable (SyncEvent) -> Void,
        _ report: @escaping SyncReport<SyncPlan.File>
    ) async throws(TransferFailure) {
        let untold = Failure.untoldAttributes
        for file in files where file.entry.isPartial { report(file, untold.code, untold.message) }
        let files = files.filter { !$0.entry.isPartial }
        if keepsReplaced { try await keepInTrash(files.filter { !$0.replacesKnown }) }
        let found = Dictionary(files.map { (PathKey($0.entry.path.string), $0) }) { first, _ in first }
        for try await event in client.pull(files.compactMap(pulled), to: destination) {
            switch event {
            case .finished(let answer):
                guard var file = found[PathKey(answer.source)] else { continue }
                file.sent = answer.version.map(SyncRecord.Version.init)
                report(file, answer.result, answer.message)
            case .progress(var progress):
                progress.source = found[PathKey(progress.source)]?.target.string ?? progress.source
                tell(.progress(progress))
            case .reconnecting(let reason, let seconds): tell(.reconnecting(reason: reason, after: seconds))
            case .connected, .known, .counted, .planned: break
            }
        }
    }

    /// Gives files that are going to be replaced a second name in the trash, which is durable before they lose their
    /// own. Nothing is kept if the file system has no hard links, or no room for another one.
    private func keepInTrash(_ files: [SyncPlan.File]) async throws(TransferFailure) {
        let batch = TrashBatch.begun(at: utcNanoseconds())
        let copies = files.map(\.entry).map { SyncPlan.Move(from: $0.path, entry: $0.at(.trash(batch, $0.path))) }
        try await keep(copies) { _, _, _ in }
    }

    private func pulled(_ file: SyncPlan.File) -> PullFile? {
        let entry = file.entry
        guard let remote = entry.remote(digests[entry.path]) else { return nil }
        let pulled = PullFile(source: entry.path.string, target: file.target, entry: remote)
        pulled.kept = entry.extra.keeping(owner: keepsOwners)
        pulled.compared = file.replacesNothing ? .nothing : expected(at: file.target)
        return pulled
    }

    /// Makes changes one after the other, and reports them when they are durable.
    ///
    /// - Parameter renaming: the old and the new path if a change is a move.
    private func change<Item: Sendable>(
        _ items: [Item], _ report: @escaping SyncReport<Item>,
        renaming: @escaping @Sendable (Item) -> TreeEditor.Renaming? = { _ in nil },
        _ make: @escaping @Sendable (TreeEditor, Item) throws(Failure) -> Void
    ) async {
        guard !items.isEmpty else { return }
        let destination = destination
        await pool.run {
            var rest = items[...]
            while !rest.isEmpty {
                let editor = destination.editor()
                editor.prepare(rest.prefix(Self.batch).compactMap(renaming))
                var done: [(item: Item, failure: Failure?)] = []
                while let item = rest.first, done.count < Self.batch, !editor.isFull {
                    rest.removeFirst()
                    do throws(Failure) {
                        try make(editor, item)
                        done.append((item, nil))
                    } catch {
                        done.append((item, error.local))
                    }
                }
                let failure = Self.commit(editor)
                for (item, own) in done {
                    let failure = own ?? failure
                    report(item, failure?.code ?? .completed, failure?.message ?? "")
                }
            }
        }
    }

    private static func commit(_ editor: TreeEditor) -> Failure? {
        do throws(Failure) {
            try editor.commit()
            return nil
        } catch {
            return error.local
        }
    }
}

extension SyncRecord.Version {
    fileprivate init(_ version: ContentVersion) {
        let (seconds, rest) = version.revision.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(
            size: version.size,
            modified: Timestamp(
                seconds: rest < 0 ? seconds - 1 : seconds, nanoseconds: UInt32(rest < 0 ? rest + 1_000_000_000 : rest)))
    }
}

extension SyncEntry.Form {
    /// The form of the entry on this machine.
    fileprivate var object: FoundObject.Form {
        switch self {
        case .file: .file
        case .folder: .folder
        case .link: .link
        }
    }
}
