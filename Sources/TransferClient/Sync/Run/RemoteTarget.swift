import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// The folder on a server that a sync changes.
struct RemoteTarget: SyncTarget {
    let client: TransferClient
    /// The directory that files are sent from; nil if none are sent.
    var root: SourceRoot?
    let keepsOwners: Bool
    /// The plan. An entry that has changed since it was compared for the plan is not moved, changed or removed. Nil if
    /// nothing was compared.
    var plan: SyncPlan?
    /// Whether the server compares the version that an upload may replace (feature `versions`). An older server
    /// replaces any version.
    var comparesContent = false
    /// Digests of files that the server had already, although their paths were free when it listed them.
    private let acknowledged = AcknowledgedDigests()
    /// Pauses before a request is repeated because another client is changing the same path.
    var waits = Self.usualWaits
    /// Receives each answer to a change, which also says whether the change is durable.
    var answered: @Sendable (ChangeReport) -> Void = { _ in }

    /// The pauses cover the time after which another client's batch ends, because the server's disk has synced.
    private static let usualWaits: [Duration] = [50, 100, 200, 400, 800].map { .milliseconds($0) }

    func makeTop(permissions: UInt16?) async throws(TransferFailure) {
        guard !client.server.folder.isEmpty else { return }
        let report = try await changeTop { path in
            MakeRequest(.directory, path: path, permissions: permissions.map { $0 | 0o700 })
        }
        guard report.result != .completed else { return }
        // A client that may only send must not set permissions.
        if report.result == .forbidden, permissions != nil { return try await makeTop(permissions: nil) }
        throw TransferFailure(reason: .rejected(report.result), message: report.message)
    }

    private func changeTop(_ request: (String) -> MakeRequest) async throws(TransferFailure) -> ChangeReport {
        var last = ChangeReport.done("")
        try await untilFree([""]) { (paths, isLast) async throws(TransferFailure) in
            for try await report in client.change(paths, { path, _ in .make(request(path)) }) { last = report }
            return !isLast && last.result == .busy ? paths : []
        }
        return last
    }

    func set(_ entries: [SyncEntry], _ report: @escaping SyncReport<SyncEntry>) async throws(TransferFailure) {
        let found = try await stat(entries.map(\.path).filter { acknowledged[$0] != nil })
        let isOther = { (entry: SyncEntry) in
            acknowledged[entry.path].map { $0 != found[entry.path]?.digest } ?? false
        }
        for entry in entries where isOther(entry) {
            report(entry, .sourceChanged, Failure.changed(entry.path).message)
        }
        try await change(entries.filter { !isOther($0) }, { $0.path.string }, report) { entry, path in
            make(
                .nothing, path, entry,
                version: entry.isFolder ? nil : found[entry.path]?.version ?? compared(at: entry.path))
        }
    }

    /// The version that an entry must still have when it is replaced, moved or changed; nil for any.
    ///
    /// - Parameter path: the path that the entry gets.
    private func compared(at path: RelativePath) -> FileVersion? { plan?.compared[path]?.stored }

    /// Whether an entry was compared at this path, and not at the old path of a move.
    private func wasCompared(at path: RelativePath) -> Bool { plan.map { $0.compared[path]?.path == path } ?? true }

    /// Whether a new entry may replace the entry that is at its path.
    private func replaces(at entry: SyncEntry) -> Bool { plan.map { $0.compared[entry.path] != nil } ?? true }

    func tidy() async {}

    func setTop(_ top: SyncTree.Top, keepsOwner: Bool) async throws(TransferFailure) -> ChangeReport {
        try await changeTop { path in
            MakeRequest(
                .nothing, path: path, permissions: top.permissions, modified: top.modified,
                attributes: top.extra.keeping(owner: keepsOwner))
        }
    }

    func unlock(_ folders: [SyncEntry]) async throws(TransferFailure) {
        try await change(folders, { $0.path.string }, { _, _, _ in }) { entry, path in
            .make(MakeRequest(.nothing, path: path, permissions: entry.permissions | 0o700))
        }
    }

    /// Gives folders that were unlocked their former permissions back.
    func lock(_ folders: [SyncEntry]) async throws(TransferFailure) {
        try await change(folders, { $0.path.string }, { _, _, _ in }) { entry, path in
            .make(MakeRequest(.nothing, path: path, permissions: entry.permissions))
        }
    }

    func remove(
        _ removals: [SyncPlan.Removal], keepsInTrash: Bool, _ report: @escaping SyncReport<SyncPlan.Removal>
    ) async throws(TransferFailure) {
        try await untilFree(removals) { (removals, isLast) async throws(TransferFailure) in
            let found = Dictionary(removals.map { (PathKey($0.entry.path.string), $0) }) { first, _ in first }
            let versions = try await survivors(of: removals)
            let requests = removals.map { removal in
                let path = removal.entry.path
                let version = plan == nil || removal.entry.isFolder ? nil : versions[path] ?? removal.entry.stored
                let request = RemoveRequest(
                    path: client.requestContext.remote(path.string), isRecursive: true, keepsInTrash: keepsInTrash,
                    version: version)
                return (path.string, request)
            }
            var busy: [SyncPlan.Removal] = []
            for try await answer in client.remove(requests, needs: [.files, .trees]) {
                guard let removal = found[PathKey(answer.path)] else { continue }
                guard isLast || answer.result != .busy else {
                    busy.append(removal)
                    continue
                }
                // Another client has removed it already.
                report(removal, answer.result == .notFound ? .completed : answer.result.asCompared, answer.message)
            }
            return busy
        }
    }

    /// Present versions of files that lose one name and keep another one, because the sync itself may have changed
    /// their time.
    private func survivors(of removals: [SyncPlan.Removal]) async throws(TransferFailure) -> [RelativePath: FileVersion]
    {
        var names: [RelativePath: RelativePath] = [:]
        for removal in removals {
            if let name = removal.entry.named, let kept = plan?.surviving[name] { names[removal.entry.path] = kept }
        }
        let found = try await stat(Array(Set(names.keys).union(names.values)))
        return names.compactMapValues { found[$0]?.version }.filter { found[$0.key]?.version == $0.value }
    }

    private func stat(_ paths: [RelativePath]) async throws(TransferFailure) -> [RelativePath: RemoteEntry] {
        var found: [RelativePath: RemoteEntry] = [:]
        guard !paths.isEmpty else { return found }
        for try await report in client.stat(paths.map(\.string), wantsAll: true) {
            if let path = try? RelativePath(report.path), let entry = report.entry { found[path] = entry }
        }
        return found
    }

    func makeFolders(
        _ folders: [SyncEntry], replacing links: Set<RelativePath>, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure) {
        let refused = Locked<[SyncEntry]>([])
        let first: SyncReport<SyncEntry> = { folder, result, message in
            guard result == .forbidden else { return report(folder, result, message) }
            refused.withLock { $0.append(folder) }
        }
        try await change(folders, { $0.path.string }, first) { folder, path in
            .make(
                MakeRequest(
                    .directory, path: path, replaces: links.contains(folder.path),
                    permissions: folder.openPermissions, version: compared(at: folder.path)))
        }
        // A client that may only send must not set permissions, but it may create folders, so the refused folders are
        // created without permissions.
        try await change(refused.withLock { $0 }, { $0.path.string }, report) { folder, path in
            .make(
                MakeRequest(
                    .directory, path: path, replaces: links.contains(folder.path), version: compared(at: folder.path)))
        }
    }

    func move(_ moves: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure) {
        try await change(moves, { $0.from.string }, report) { move, path in
            .move(
                MoveRequest(
                    path: path, to: client.requestContext.remote(move.entry.path.string),
                    version: move.compared?.movable ?? compared(at: move.entry.path)))
        }
    }

    /// Makes copies, which share their content if the server's file system can. A hard link would change the version of
    /// the first name.
    func keep(_ copies: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure) {
        try await change(copies, { $0.entry.path.string }, report) { copy, path in
            .make(
                MakeRequest(
                    .copy, path: path, target: Array(client.requestContext.remote(copy.from.string).utf8)))
        }
    }

    func makeLinks(
        _ links: [SyncEntry], replaces: Bool, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure) {
        try await change(links, { $0.path.string }, report) { entry, path in
            guard case .link(let target) = entry.form else { return make(.nothing, path, entry) }
            return make(
                .symbolicLink, path, entry, target: target, replaces: replaces && self.replaces(at: entry),
                version: compared(at: entry.path))
        }
    }

    func makeHardLinks(
        _ links: [SyncPlan.HardLink], replaces: Bool, _ report: @escaping SyncReport<SyncPlan.HardLink>
    ) async throws(TransferFailure) {
        try await change(links, { $0.entry.path.string }, report) { link, path in
            let first = client.requestContext.remote(link.first.string)
            return .make(
                MakeRequest(
                    .hardLink, path: path, target: Array(first.utf8),
                    replaces: replaces && self.replaces(at: link.entry), version: compared(at: link.entry.path)))
        }
    }

    func take(
        _ files: [SyncPlan.File], _ tell: @escaping @Sendable (SyncEvent) -> Void,
        _ report: @escaping SyncReport<SyncPlan.File>
    ) async throws(TransferFailure) {
        guard let root else { return }
        let places = files.map { SourcePlace($0.entry.path.string, below: root) }
        let found = Dictionary(zip(places.map { PathKey($0.path) }, files)) { first, _ in first }
        let uploads = zip(places, files).map { place, file in
            var upload = Upload(at: place, name: file.target.string)
            upload.replaceable = replaceable(by: file)
            return upload
        }
        for try await event in client.push(uploads) {
            switch event {
            case .finished(let answer):
                guard var file = found[PathKey(answer.source)] else { continue }
                if answer.result == .alreadyStored, !wasCompared(at: file.target) {
                    acknowledged[file.target] = answer.digest
                }
                file.sent = answer.file.map { SyncRecord.Version(size: $0.size, modified: $0.modified) }
                file.trash = answer.trash
                // As with other changes, a file that another client has stored at the path since the comparison stays.
                let isOther = answer.result == .pathConflict && replaceable(by: file) != nil
                report(file, isOther ? .sourceChanged : answer.result, answer.message)
            case .progress(var progress):
                progress.source = found[PathKey(progress.source)]?.target.string ?? progress.source
                tell(.progress(progress))
            case .reconnecting(let reason, let seconds): tell(.reconnecting(reason: reason, after: seconds))
            case .notice(let text): tell(.notice(text))
            case .connected, .counted, .known: break
            }
        }
    }

    /// The version that an upload may replace; nil for any.
    private func replaceable(by file: SyncPlan.File) -> FileVersion? {
        guard comparesContent, plan != nil || file.replacesNothing else { return nil }
        guard !file.replacesNothing, wasCompared(at: file.target) else { return FileVersion.none }
        return compared(at: file.target) ?? FileVersion.none
    }

    private func make(
        _ form: MakeRequest.Form, _ path: String, _ entry: SyncEntry, target: [UInt8] = [], replaces: Bool = false,
        version: FileVersion? = nil
    ) -> Request {
        .make(
            MakeRequest(
                form, path: path, target: target, replaces: replaces,
                permissions: entry.isLink ? nil : entry.permissions, modified: entry.modified,
                attributes: entry.extra.keeping(owner: keepsOwners), version: version))
    }

    private func change<Item: Sendable>(
        _ items: [Item], _ path: (Item) -> String, _ report: SyncReport<Item>, _ request: (Item, String) -> Request
    ) async throws(TransferFailure) {
        try await untilFree(items) { (items, isLast) async throws(TransferFailure) in
            let paths = items.map(path)
            let found = Dictionary(zip(paths.map { PathKey($0) }, items)) { first, _ in first }
            var busy: [Item] = []
            for try await answer in client.change(paths, { path, index in request(items[index], path) }) {
                let item = found[PathKey(answer.path)]
                if let item, !isLast, answer.result == .busy {
                    busy.append(item)
                    continue
                }
                answered(answer)
                if let item { report(item, answer.result.asCompared, answer.message) }
            }
            return busy
        }
    }

    /// - Parameter ask: requests changes. Except in the last call, it returns the items whose change failed because
    ///   another client is changing the same path.
    private func untilFree<Item>(
        _ items: [Item], _ ask: (_ items: [Item], _ isLast: Bool) async throws(TransferFailure) -> [Item]
    ) async throws(TransferFailure) {
        var rest = items
        for wait in waits where !rest.isEmpty {
            rest = try await ask(rest, false)
            if !rest.isEmpty { try? await Task.sleep(for: wait) }
        }
        if !rest.isEmpty { _ = try await ask(rest, true) }
    }
}

extension SyncEntry {
    /// The version that a file or link must still have when it is moved; nil for a folder, and for a file with several
    /// names, because the sync may have changed it under another name.
    fileprivate var movable: FileVersion? { isFolder || named != nil ? nil : stored }
}

extension ChangeReport {
    static func done(_ path: String) -> ChangeReport {
        ChangeReport(path: path, result: .completed, isDurable: true, message: "")
    }
}

extension ResultCode {
    /// The result as a local target gives it for an entry that stays because the server has another version.
    fileprivate var asCompared: ResultCode { self == .fileChanged ? .sourceChanged : self }
}

extension ExtraAttributes {
    /// The same attributes, without the owner if that is not kept.
    func keeping(owner isKept: Bool) -> ExtraAttributes {
        isKept ? self : ExtraAttributes(extended: extended)
    }
}

/// Digests of content that a server already had under a path.
private final class AcknowledgedDigests: Sendable {
    private let known = Locked<[RelativePath: Digest]>([:])

    subscript(path: RelativePath) -> Digest? {
        get { known.withLock { $0[path] } }
        set { known.withLock { $0[path] = newValue } }
    }
}
