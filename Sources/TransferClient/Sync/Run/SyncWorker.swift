import Glibc
import TransferCodec
import TransferIO
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// Runs a sync: scans both sides, plans the changes and makes them.
struct SyncWorker: Sendable {
    /// Both sides as they were scanned.
    private struct Sides: Sendable {
        let trees: (source: SyncTree, target: SyncTree)
        /// The side that is changed.
        let target: SyncRecord.Side
        let source: any SyncSource
        let keeping: AttributeKeeping
        /// Makes names for the source's versions after conflicts.
        let names: ConflictName
        /// The path of the local directory.
        let directory: String
        /// Whether a file of the source and one of the target have the same content; nil if that is unknown.
        let hasSameContent: @Sendable (SyncEntry, SyncEntry) -> Bool?
        /// Files of the source that could not be read for this comparison, and why.
        var unreadable: @Sendable () -> [RelativePath: String] = { [:] }
    }

    private let client: TransferClient
    private let selection: Selection
    private let options: SyncOptions
    private let tell: @Sendable (SyncEvent) -> Void

    /// - Parameter client: configured to replace files, and to keep attributes.
    init(
        _ client: TransferClient, _ selection: Selection, _ options: SyncOptions,
        tell: @escaping @Sendable (SyncEvent) -> Void
    ) {
        (self.client, self.selection, self.options, self.tell) = (client, selection, options, tell)
    }

    /// Makes the server's folder the same as a local directory.
    func push(_ directory: String) async throws(TransferFailure) -> SyncSummary {
        let (selection, places) = (selection, client.places)
        let kept = try keptFolders()
        let (root, local, top) = try await onPool { () throws(Failure) in
            if let refusal = places?.refusal(ofSource: directory) {
                throw Failure(refusal.code, "\(directory.escapedForDisplay) is not sent. \(refusal.message)")
            }
            let (root, tree) = try Self.open(directory)
            return (root, tree, try tree.top())
        }
        let scan = RemoteScan(
            client, isSource: false, wantsDigests: options.comparesContent, SyncFilter(selection, without: kept))
        let (scanned, found) = try await BothScans(remote: scan, pool: client.pool) { (isStopped) throws(Failure) in
            var scan = LocalScan(
                local, at: root, isSource: true, SyncFilter(selection, without: kept), places: places,
                isStopped: isStopped)
            return try scan.run()
        }.run()
        var (source, target) = (scanned.0, found.tree)
        if scanned.1.hasIgnoreFiles {
            // The server's scan did not know the ignore files yet.
            let (tree, filter) = (target, SyncFilter(selection, like: scanned.1, without: kept))
            target = await client.pool.run { tree.sifted(by: filter, isSource: false) }
        }
        let keepsOwners = options.keepsOwners && found.keepsOwners
        let digests =
            options.comparesContent
            ? try await digests(of: target, like: source)
            : try await acknowledged(await doubts(target, source))
        let known = KnownDigests(local)
        // The server's directory itself belongs to its operator, so its attributes stay.
        if client.server.folder.isEmpty { source.top = nil }
        let sides = Sides(
            trees: (source, target), target: .server, source: LocalSource(path: directory, top: top, pool: client.pool),
            keeping: AttributeKeeping(owners: keepsOwners, rights: .serving(isRoot: found.keepsOwners)),
            names: .here, directory: directory,
            hasSameContent: { source, target in known.hasContent(of: target, digests[target.path], source) },
            unreadable: { known.unreadable })
        return try await run(sides) { (plan) async throws(TransferFailure) in
            RemoteTarget(
                client: try client.keeping(.init(owners: keepsOwners)), root: root, keepsOwners: keepsOwners,
                plan: plan, comparesContent: found.comparesUploads)
        }
    }

    /// Makes a local directory the same as the server's folder.
    func pull(_ directory: String) async throws(TransferFailure) -> SyncSummary {
        let selection = selection
        let kept = try keptFolders()
        // If all files are to be fetched, all digests are needed: arriving content is compared with what the server has
        // acknowledged.
        let isFirst = try await onPool { () throws(Failure) in LocalTree.isAbsentOrEmpty(directory) }
        let wantsDigests = options.comparesContent || isFirst
        let (places, folder) = (client.places, client.server.folder)
        let own = try await onPool { () throws(Failure) in
            try Self.ownFolder(places?.path(ofTarget: directory), below: folder)
        }
        let scan = RemoteScan(
            client, isSource: true, wantsDigests: wantsDigests,
            SyncFilter(selection, without: kept.union(own.map { [$0] } ?? [])))
        let (here, found) = try await BothScans(remote: scan, pool: client.pool) { (isStopped) throws(Failure) in
            try Self.look(at: directory, SyncFilter(selection, without: kept), places, isStopped)
        }.run()
        var ((local, target), source) = (here, found.tree)
        if let own { source.stranded.append(SyncTree.Fault(path: own.string, message: Failure.target.message)) }
        guard source.top != nil else {
            throw TransferFailure(reason: .rejected(.notFound), message: "There is no folder \(client.server).")
        }
        let keepsOwners = options.keepsOwners && Privileges.areRoots
        let digests =
            options.comparesContent
            ? try await digests(of: source, like: target)
            : try await acknowledged(await doubts(source, target))
        let known = local.map(KnownDigests.init)
        let keeping = AttributeKeeping(owners: keepsOwners, rights: .fetching(isRoot: Privileges.areRoots))
        let sides = Sides(
            trees: (source, target), target: .here, source: RemoteSource(client: client), keeping: keeping,
            names: ConflictName(client.server), directory: directory,
            hasSameContent: { source, target in known?.hasContent(of: source, digests[source.path], target) })
        return try await run(sides) { (plan) async throws(TransferFailure) in
            let permissions = source.top?.permissions
            let destination = try await onPool { () throws(Failure) in
                try PullDirectory(path: directory, permissions: permissions)
            }
            let fetched = wantsDigests ? [:] : try await acknowledged(plan.files.map(\.entry))
            return LocalTarget(
                client: client, destination: destination, keepsOwners: keepsOwners,
                digests: digests.merging(fetched) { $1 }, plan: plan,
                keepsReplaced: options.keepsInTrash && options.backupFolder == nil)
        }
    }

    /// Folders that are left out on both sides: the backup folder, if there is one.
    private func keptFolders() throws(TransferFailure) -> Set<RelativePath> {
        Set(try options.backup().map { [$0.folder] } ?? [])
    }

    /// - Parameters:
    ///   - path: path on the server of the directory that is pulled to; nil if the server does not store in it.
    ///   - folder: the folder that is pulled.
    /// - Returns: the path of that directory relative to the folder; nil if the directory is not in the folder.
    /// - Throws: if the directory is the folder itself.
    private static func ownFolder(_ path: String?, below folder: String) throws(Failure) -> RelativePath? {
        guard let path, ServerPlaces.holds(folder, path) else { return nil }
        let own = path.utf8.dropFirst(folder.isEmpty ? 0 : folder.utf8.count + 1)
        guard !own.isEmpty else {
            throw Failure(.sourceSkipped, "The directory is the server's folder itself. Nothing was changed.")
        }
        return try? RelativePath(String(Substring(own)))
    }

    /// - Returns: nil and an empty tree if the directory does not exist.
    private static func look(
        at directory: String, _ filter: SyncFilter, _ places: ServerPlaces?, _ isStopped: @escaping () -> Bool
    ) throws(Failure) -> (LocalTree?, SyncTree) {
        guard access(directory, F_OK) == 0 else { return (nil, SyncTree(top: nil)) }
        let (root, tree) = try open(directory)
        var scan = LocalScan(
            tree, at: root, isSource: false, filter, places: places, isStopped: isStopped)
        return (tree, try scan.run().0)
    }

    /// Opens a directory to scan it and to send files from it.
    private static func open(_ directory: String) throws(Failure) -> (SourceRoot, LocalTree) {
        let tree = try LocalTree(path: directory)
        let (top, shown) = (try tree.top(), directory.escapedForDisplay)
        do throws(SystemError) {
            let root = try SourceRoot(directory)
            guard root.identity == SourceRoot.Identity(top.object) else {
                throw SystemError(errno: ESTALE, call: "open")
            }
            return (root, tree)
        } catch {
            throw Failure(.sourceUnreadable, "'\(shown)' cannot be read: \(error.reason).")
        }
    }

    private func run(
        _ sides: Sides, _ makeTarget: (SyncPlan) async throws(TransferFailure) -> any SyncTarget
    ) async throws(TransferFailure) -> SyncSummary {
        try check(sides.trees)
        tell(.connected(server: client.server.description))
        var options = options
        options.keepsOwners = sides.keeping.owners
        let file = options.records.map { SyncRecordFile(in: $0, sides.directory, client.server) }
        let (record, plan) = await client.pool.run { [options] in
            let record = file?.read()
            var planner = SyncPlanner(
                sides.trees.source, sides.trees.target, options, rights: sides.keeping.rights, record: record,
                of: sides.target, names: sides.names, hasSameContent: sides.hasSameContent)
            var plan = planner.run()
            plan.leave(unreadable: sides.unreadable())
            return (record, plan)
        }
        tell(.planned(files: plan.files.count, bytes: plan.bytes))
        let run = SyncRun(sides.source, sides.trees, plan, options, try options.backup(), tell: tell)
        guard !options.isDryRun else { return run.foresee() }
        let target = try await makeTarget(plan)
        let next = NextRecord(sides.trees, plan, of: sides.target, after: record)
        // If this sync is killed, the next one must know the versions that the target may have got from this one.
        if plan.changesFiles { await write(next.underWay, to: file, unless: record) }
        let result: Result<SyncSummary, TransferFailure>
        do throws(TransferFailure) { result = .success(try await run.run(target)) } catch { result = .failure(error) }
        await write(next.record(after: run.outcome), to: file, unless: plan.changesFiles ? nil : record)
        return try result.get()
    }

    /// - Parameter old: the record that the file has already.
    private func write(_ record: SyncRecord, to file: SyncRecordFile?, unless old: SyncRecord?) async {
        guard let file, record != old else { return }
        let failure = await client.pool.run { () -> SystemError? in
            do throws(SystemError) {
                try file.write(record)
                return nil
            } catch {
                return error
            }
        }
        guard let failure else { return }
        tell(
            .notice("The record of this sync cannot be saved, so the next sync compares the times of files: \(failure)")
        )
    }

    /// Files on the server whose digests are needed.
    private func doubts(_ server: SyncTree, _ here: SyncTree) async -> [SyncEntry] {
        let findsMoves = options.deletes
        return await client.pool.run { SyncDoubts(server, here, findsMoves: findsMoves).files() }
    }

    /// Acknowledged digests of files that the server has listed without one.
    private func acknowledged(_ files: [SyncEntry]) async throws(TransferFailure) -> [RelativePath: Digest] {
        let asked = Dictionary(files.lazy.filter { $0.digest == nil }.map { (PathKey($0.path.string), $0) }) { $1 }
        var found: [RelativePath: Digest] = [:]
        guard !asked.isEmpty else { return found }
        for try await report in client.stat(asked.keys.map(\.string), wantsAll: true) {
            // If the server has another version by now, its digest says nothing about the listed one.
            guard let file = asked[PathKey(report.path)], let entry = report.entry, entry.version == file.stored
            else { continue }
            found[file.path] = entry.digest
        }
        return found
    }

    /// Computes digests of files whose digest the server does not know, such as those that were put into its directory.
    /// Only a dry run needs this, because the transfer of a real sync finds out.
    private func digests(
        of remote: SyncTree, like local: SyncTree
    ) async throws(TransferFailure) -> [RelativePath: Digest] {
        guard options.isDryRun, options.comparesContent else { return [:] }
        var found: [RelativePath: Digest] = [:]
        for entry in remote.entries where entry.isFile && entry.digest == nil {
            guard local[entry.path]?.form == entry.form else { continue }
            found[entry.path] = try await digest(of: entry.path)
        }
        return found
    }

    /// - Returns: nil if the file cannot be read.
    private func digest(of path: RelativePath) async throws(TransferFailure) -> Digest? {
        let digester = ContentDigester(.xxh128)
        do throws(TransferFailure) {
            for try await piece in client.read(path.string) {
                piece.withUnsafeBytes { digester.update($0) { _, _ in } }
            }
        } catch {
            guard case .rejected = error.reason else { throw error }
            return nil
        }
        return digester.finish().digest
    }

    /// Refuses to empty the target if the source is empty: more often, a disk is not mounted than the user wants that.
    private func check(_ trees: (source: SyncTree, target: SyncTree)) throws(TransferFailure) {
        guard options.deletes, !options.isForced, !trees.source.hasContent, trees.target.hasContent
        else { return }
        throw TransferFailure(
            reason: .rejected(.sourceSkipped),
            message: "There is no file in the source, and all of the target would be removed. Is a disk not "
                + "mounted? Nothing was changed; --force removes them.")
    }

    private func onPool<T: Sendable>(
        _ body: @escaping @Sendable () throws(Failure) -> T
    ) async throws(TransferFailure) -> T {
        let result = await client.pool.run { () -> Result<T, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw TransferFailure(reason: .rejected(error.code), message: error.message)
        }
    }
}
