import TransferModel
import TransferProtocol
import TransferSystem

/// A folder on a server that is made the same as a directory here.
struct RemoteTarget: SyncTarget {
    let client: TransferClient
    /// The directory that files are sent from.
    let directory: String
    let keepsOwners: Bool
    /// For which all that stands there was compared: what has changed since gets no other path and no attributes, and is not removed.
    /// Nothing where none of it was.
    var plan: SyncPlan?
    /// How long it is waited, again and again, for another client that changes the same.
    var waits = Self.usualWaits
    /// Is told each answer to a change, which also says whether that is durable.
    var answered: @Sendable (ChangeReport) -> Void = { _ in }

    /// A batch of another client is over when its disk has synced.
    private static let usualWaits: [Duration] = [50, 100, 200, 400, 800].map { .milliseconds($0) }

    func makeTop(permissions: UInt16?) async throws(PushFailure) {
        guard !client.server.folder.isEmpty else { return }
        let request = { (path: String, _: Int) in
            Request.make(MakeRequest(.directory, path: path, permissions: permissions.map { $0 | 0o700 }))
        }
        for try await report in client.change([""], request) where report.result != .completed {
            // Whoever may only send gives no permissions.
            if report.result == .forbidden, permissions != nil { return try await makeTop(permissions: nil) }
            throw PushFailure(reason: .rejected(report.result), message: report.message)
        }
    }

    func set(_ entries: [SyncEntry], _ report: @escaping Report<SyncEntry>) async throws(PushFailure) {
        try await change(entries, { $0.path.string }, report) { entry, path in
            make(.nothing, path, entry, version: entry.isFile ? plan?.compared[entry.path]?.stored : nil)
        }
    }

    func tidy() async {}

    func setTop(_ top: SyncTree.Top, keepsOwner: Bool) async throws(PushFailure) -> ChangeReport {
        let request = { (path: String, _: Int) in
            Request.make(
                MakeRequest(
                    .nothing, path: path, permissions: top.permissions, modified: top.modified,
                    attributes: top.extra.keeping(owner: keepsOwner)))
        }
        for try await report in client.change([""], request) { return report }
        return .done("")
    }

    func unlock(_ folders: [SyncEntry]) async throws(PushFailure) {
        try await change(folders, { $0.path.string }, { _, _, _ in }) { entry, path in
            .make(MakeRequest(.nothing, path: path, permissions: entry.permissions | 0o700))
        }
    }

    /// Gives folders that were unlocked the permissions back that they had.
    func lock(_ folders: [SyncEntry]) async throws(PushFailure) {
        try await change(folders, { $0.path.string }, { _, _, _ in }) { entry, path in
            .make(MakeRequest(.nothing, path: path, permissions: entry.permissions))
        }
    }

    func remove(
        _ removals: [SyncPlan.Removal], keepsInTrash: Bool, _ report: @escaping Report<SyncPlan.Removal>
    ) async throws(PushFailure) {
        try await untilFree(removals) { (removals, isLast) async throws(PushFailure) in
            let found = Dictionary(removals.map { (PathKey($0.entry.path.string), $0) }) { first, _ in first }
            let requests = removals.map { removal in
                let path = removal.entry.path.string
                let request = RemoveRequest(
                    path: client.requestContext.remote(path), isRecursive: true, keepsInTrash: keepsInTrash,
                    version: plan?.stored(removal.entry))
                return (path, request)
            }
            var busy: [SyncPlan.Removal] = []
            for try await answer in client.remove(requests, needs: [.files, .trees]) {
                guard let removal = found[PathKey(answer.path)] else { continue }
                guard isLast || answer.result != .busy else {
                    busy.append(removal)
                    continue
                }
                // Somebody else was quicker.
                report(removal, answer.result == .notFound ? .completed : answer.result.asCompared, answer.message)
            }
            return busy
        }
    }

    func makeFolders(
        _ folders: [SyncEntry], replacing links: Set<RelativePath>, _ report: @escaping Report<SyncEntry>
    ) async throws(PushFailure) {
        let refused = Locked<[SyncEntry]>([])
        let first: Report<SyncEntry> = { folder, result, message in
            guard result == .forbidden else { return report(folder, result, message) }
            refused.withLock { $0.append(folder) }
        }
        try await change(folders, { $0.path.string }, first) { folder, path in
            .make(
                MakeRequest(
                    .directory, path: path, replaces: links.contains(folder.path),
                    permissions: folder.openPermissions))
        }
        // Whoever may only send gives no permissions, and makes folders all the same.
        try await change(refused.withLock { $0 }, { $0.path.string }, report) { folder, path in
            .make(MakeRequest(.directory, path: path, replaces: links.contains(folder.path)))
        }
    }

    func move(_ moves: [SyncPlan.Move], _ report: @escaping Report<SyncPlan.Move>) async throws(PushFailure) {
        try await change(moves, { $0.from.string }, report) { move, path in
            .move(
                MoveRequest(
                    path: path, to: client.requestContext.remote(move.entry.path.string),
                    version: plan?.compared[move.entry.path]?.stored))
        }
    }

    func makeLinks(
        _ links: [SyncEntry], replaces: Bool, _ report: @escaping Report<SyncEntry>
    ) async throws(PushFailure) {
        try await change(links, { $0.path.string }, report) { entry, path in
            guard case .link(let target) = entry.form else { return make(.nothing, path, entry) }
            return make(.symbolicLink, path, entry, target: target, replaces: replaces)
        }
    }

    func makeHardLinks(
        _ links: [SyncPlan.HardLink], replaces: Bool, _ report: @escaping Report<SyncPlan.HardLink>
    ) async throws(PushFailure) {
        try await change(links, { $0.entry.path.string }, report) { link, path in
            let first = client.requestContext.remote(link.first.string)
            return .make(MakeRequest(.hardLink, path: path, target: Array(first.utf8), replaces: replaces))
        }
    }

    func take(
        _ files: [SyncPlan.File], _ tell: @escaping @Sendable (SyncEvent) -> Void,
        _ report: @escaping Report<SyncPlan.File>
    ) async throws(PushFailure) {
        let directory = directory
        let found = Dictionary(files.map { (PathKey("\(directory)/\($0.entry.path.string)"), $0) }) { first, _ in first
        }
        let uploads = files.map { file in
            var upload = Upload.path("\(directory)/\(file.entry.path.string)", name: file.entry.path.string)
            // What is a link by now is another thing than what was looked at.
            upload.followsLinks = false
            return upload
        }
        for try await event in client.push(uploads) {
            switch event {
            case .finished(let answer):
                guard let file = found[PathKey(answer.source)] else { continue }
                report(file, answer.result, answer.message)
            case .progress(var progress):
                progress.source = found[PathKey(progress.source)]?.entry.path.string ?? progress.source
                tell(.progress(progress))
            case .reconnecting(let reason, let seconds): tell(.reconnecting(reason: reason, after: seconds))
            case .notice(let text): tell(.notice(text))
            case .connected, .counted, .known: break
            }
        }
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
        _ items: [Item], _ path: (Item) -> String, _ report: Report<Item>, _ request: (Item, String) -> Request
    ) async throws(PushFailure) {
        try await untilFree(items) { (items, isLast) async throws(PushFailure) in
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

    /// - Parameter ask: asks for changes; when it is not the last time, those that another client is in the way of come back.
    private func untilFree<Item>(
        _ items: [Item], _ ask: (_ items: [Item], _ isLast: Bool) async throws(PushFailure) -> [Item]
    ) async throws(PushFailure) {
        var rest = items
        for wait in waits where !rest.isEmpty {
            rest = try await ask(rest, false)
            if !rest.isEmpty { try? await Task.sleep(for: wait) }
        }
        if !rest.isEmpty { _ = try await ask(rest, true) }
    }
}

extension ChangeReport {
    static func done(_ path: String) -> ChangeReport {
        ChangeReport(path: path, result: .completed, isDurable: true, message: "")
    }
}

extension ResultCode {
    /// What a server has another version of, and so has left, is told as it is of a target here.
    fileprivate var asCompared: ResultCode { self == .fileChanged ? .sourceChanged : self }
}

extension ExtraAttributes {
    /// The same, without the owner where that is not kept.
    func keeping(owner isKept: Bool) -> ExtraAttributes {
        isKept ? self : ExtraAttributes(extended: extended)
    }
}
