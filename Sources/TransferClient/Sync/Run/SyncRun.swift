import TransferModel
import TransferSystem

/// Carries out a plan step by step. Removals come last, and only if everything before went well.
struct SyncRun {
    private let source: any SyncSource
    private let options: SyncOptions
    private let backup: SyncBackup?
    private let plan: SyncPlan
    /// Whether the source is completely known.
    private let isWhole: Bool
    private let top: SyncTree.Top?
    /// Whether the top folder does not exist in the target.
    private let isNew: Bool
    /// Entries of the target that cannot be removed.
    private let leftovers: [SyncTree.Fault]
    private let tally: SyncTally

    init(
        _ source: any SyncSource, _ trees: (source: SyncTree, target: SyncTree),
        _ plan: SyncPlan, _ options: SyncOptions, _ backup: SyncBackup? = nil,
        tell: @escaping @Sendable (SyncEvent) -> Void
    ) {
        (self.source, self.options, self.backup) = (source, options, backup)
        isWhole = trees.source.isWhole && plan.unreadable.isEmpty
        top = trees.source.top
        isNew = trees.target.top == nil
        leftovers = options.deletes ? trees.target.unlisted.map(SyncTree.Fault.init(staying:)) : []
        tally = SyncTally(
            SyncSummary(unchanged: plan.unchanged, excluded: trees.source.leftOut.count + trees.source.specials.count),
            tell)
        self.plan = plan
        for fault in trees.source.faults + trees.target.faults { tally.add(.unreadable, fault) }
        for (path, message) in plan.unreadable {
            tally.add(.unreadable, SyncTree.Fault(path: path.string, message: message))
        }
        for fault in trees.source.specials + trees.source.stranded + trees.target.stranded {
            tally.add(.skipped, fault)
        }
        for (entry, message) in plan.blocked { tally.add(entry, .pathConflict, message) }
        for entry in plan.kept { tally.add(kept: entry) }
    }

    /// The outcome of the plan so far.
    var outcome: SyncOutcome { tally.outcome }

    /// Reports what `run` would do.
    func foresee() -> SyncSummary {
        tally.foresee(plan, deletionStop: deletionStop)
        return end()
    }

    /// - Returns: counts of what was done.
    func run(_ target: any SyncTarget) async throws(TransferFailure) -> SyncSummary {
        guard !plan.isEmpty else {
            // A sync that was killed after its last change may have left temporary entries.
            await target.tidy()
            return end()
        }
        do throws(TransferFailure) {
            try await change(target, deletionStop)
        } catch {
            await target.tidy()
            throw error
        }
        await target.tidy()
        try await setTop(target)
        return end()
    }

    /// Reports entries that stay although they should be removed. This comes last, so that these reports do not stop
    /// removals.
    private func end() -> SyncSummary {
        for fault in leftovers { tally.add(.unreadable, fault) }
        return tally.summary
    }

    private func change(_ target: any SyncTarget, _ stop: String?) async throws(TransferFailure) {
        try await target.makeTop(permissions: isNew ? top?.permissions : nil)
        try await target.unlock(plan.unlocked)
        try await clear(target, stop)
        try await make(target)
        try await remove(target, stop)
        try await setFolders(target)
    }

    /// Why nothing may be removed, whatever the other changes bring; nil if removals are allowed so far.
    private var deletionStop: String? {
        guard options.deletes, plan.removedCount > 0 else { return nil }
        guard isWhole else { return "some of the source could not be read" }
        if let most = options.mostDeletions, plan.removedCount > most {
            return "\(plan.removedCount) would be removed, and \(most) are allowed"
        }
        return nil
    }

    /// A folder that is in the way is removed with all its content only if other removals are allowed as well.
    private func clear(_ target: any SyncTarget, _ stop: String?) async throws(TransferFailure) {
        let isAllowed = stop == nil && isWhole
        let obstacles = plan.obstacles.filter { isAllowed || !$0.entry.isFolder }
        try await remove(obstacles, target) { [tally] removal, result, message in
            tally.add(removal, .cleared, result, message)
        }
    }

    /// Removes entries, or moves them to the backup folder.
    private func remove(
        _ removals: [SyncPlan.Removal], _ target: any SyncTarget,
        _ report: @escaping SyncReport<SyncPlan.Removal>
    ) async throws(TransferFailure) {
        guard let backup else { return try await target.remove(removals, keepsInTrash: options.keepsInTrash, report) }
        let found = Dictionary(removals.map { ($0.entry.path, $0) }) { first, _ in first }
        try await backup.keep(removals.map(\.entry)) { entry, result, message in
            // Another client has removed the entry meanwhile.
            if let removal = found[entry.path] { report(removal, result == .notFound ? .completed : result, message) }
        } by: { (moves, report) async throws(TransferFailure) in
            try await target.move(moves, report)
        }
    }

    /// Keeps files and symbolic links in the backup folder before they are replaced.
    ///
    /// - Returns: entries that cannot be kept and so must not be replaced, and why.
    private func keepReplaced(_ target: any SyncTarget) async throws(TransferFailure) -> [RelativePath: (
        ResultCode, String
    )] {
        guard let backup else { return [:] }
        let unkept = Locked<[RelativePath: (ResultCode, String)]>([:])
        let report: SyncReport<SyncEntry> = { entry, result, message in
            guard !result.isSuccess, result != .notFound else { return }
            let reason = "It stays, because \(backup.folder) cannot keep it. \(message)"
            unkept.withLock { $0[entry.path] = (result, reason) }
        }
        let replaced = plan.replaced
        try await backup.keep(replaced.filter(\.isFile), report) { (copies, report) async throws(TransferFailure) in
            try await target.keep(copies, report)
        }
        // A link is kept as a new link with the same target.
        try await backup.keep(replaced.filter(\.isLink), report) { (copies, report) async throws(TransferFailure) in
            let found = Dictionary(copies.map { ($0.entry.path, $0) }) { first, _ in first }
            try await target.makeLinks(copies.map(\.entry), replaces: false) { entry, result, message in
                if let copy = found[entry.path] { report(copy, result, message) }
            }
        }
        return unkept.withLock { $0 }
    }

    private func make(_ target: any SyncTarget) async throws(TransferFailure) {
        let tally = tally
        let unkept = try await keepReplaced(target)
        for folder in plan.folders { unkept[folder.path].map { tally.add(made: folder, $0, $1) } }
        let folders = plan.folders.filter { unkept[$0.path] == nil }
        try await target.makeFolders(folders, replacing: plan.replacedLinks) { tally.add(made: $0, $1, $2) }
        // A file is not moved if the source has it at the old path again by now.
        let gone = plan.moves.isEmpty ? [] : try await source.missing(of: plan.moves.map(\.from))
        let stays = plan.moves.filter { !gone.contains($0.from) }.map { SyncPlan.File(entry: $0.entry, isNew: true) }
        let unmoved = Locked(stays)
        let moved = Locked<[SyncEntry]>([])
        try await target.move(plan.moves.filter { gone.contains($0.from) }) { move, result, message in
            if result == .completed {
                moved.withLock { $0.append(move.entry) }
            } else {
                // Another client or process has moved it or written to it, so the source's file is sent.
                unmoved.withLock { $0.append(SyncPlan.File(entry: move.entry, isNew: true)) }
            }
            // A file that was written to stays at its old path although the source lacks it, so its move is reported as
            // failed.
            if [.completed, .sourceChanged].contains(result) { tally.add(move, result, message) }
        }
        let present = Locked<[SyncEntry]>([])
        let failed = Locked(Set(plan.unreadable.map(\.path)).union(unkept.keys))
        for file in plan.files { unkept[file.entry.path].map { tally.add(file, $0, $1) } }
        let files = plan.files.filter { unkept[$0.entry.path] == nil } + unmoved.withLock { $0 }
        try await target.take(files, { tally.tell($0) }) { file, result, message in
            if result == .alreadyStored { present.withLock { $0.append(file.entry) } }
            if !result.isSuccess { failed.withLock { _ = $0.insert(file.entry.path) } }
            tally.add(file, result, message)
        }
        for file in try await settle(target) { present.withLock { $0.append(file) } }
        for link in plan.links { unkept[link.path].map { tally.add(link, .link, $0, $1) } }
        let links = plan.links.filter { unkept[$0.path] == nil }
        try await target.makeLinks(links, replaces: true) { tally.add($0, .link, $1, $2) }
        // Hard links are not made if their first name is missing, or does not have the new content.
        let lacking = failed.withLock { $0 }
        for link in plan.hardLinks { unkept[link.entry.path].map { tally.add(link, $0, $1) } }
        let wanted = plan.hardLinks.filter { unkept[$0.entry.path] == nil }
        for link in wanted where lacking.contains(link.first) {
            tally.add(link, .incomplete, "It is a hard link of \(link.first), which could not be sent.")
        }
        let names = wanted.filter { !lacking.contains($0.first) }
        try await target.makeHardLinks(names, replaces: true) { tally.add($0, $1, $2) }
        // Files that were moved, or that the target had already, still have their former attributes.
        let silent = present.withLock { $0 } + moved.withLock { $0 }
        try await target.set(silent) { entry, result, message in
            if result != .completed { tally.add(entry, .attributes, result, message) }
        }
        try await target.set(plan.attributes) { tally.add($0, .attributes, $1, $2) }
    }

    /// Settles conflicts: stores the source's version beside the target's.
    ///
    /// - Returns: files that the target already had, at the paths at which it has them.
    private func settle(_ target: any SyncTarget) async throws(TransferFailure) -> [SyncEntry] {
        let tally = tally
        let present = Locked<[SyncEntry]>([])
        // If it is unknown whether both versions have the same content, the target compares them and replaces nothing.
        let isDoubtful = { (conflict: SyncPlan.Conflict) in conflict.isDoubtful && target.comparesContent }
        let doubtful = plan.conflicts.filter(isDoubtful)
        let same = Locked<Set<RelativePath>>([])
        let questions = doubtful.map { SyncPlan.File(entry: $0.entry, isNew: false, replacesNothing: true) }
        try await target.take(questions, { tally.tell($0) }) { file, result, message in
            if result == .alreadyStored { present.withLock { $0.append(file.entry) } }
            guard ![.pathConflict, .sourceChanged].contains(result) else { return }
            same.withLock { _ = $0.insert(file.entry.path) }
            tally.add(file, result, message)
        }
        let conflicts = plan.conflicts.filter { conflict in !same.withLock { $0.contains(conflict.entry.path) } }
        let copies = conflicts.filter { !$0.isStored }.compactMap { conflict in
            conflict.copy.map {
                SyncPlan.File(entry: conflict.entry, isNew: true, copy: $0, replacesNothing: true)
            }
        }
        let stored = Locked(Set(conflicts.filter(\.isStored).map(\.entry.path)))
        try await target.take(copies, { tally.tell($0) }) { file, result, message in
            if result == .alreadyStored { present.withLock { $0.append(file.entry.at(file.target)) } }
            if result.isSuccess { stored.withLock { _ = $0.insert(file.entry.path) } }
            tally.add(file, result, message)
        }
        for conflict in conflicts {
            tally.add(conflict, isStored: stored.withLock { $0.contains(conflict.entry.path) })
        }
        return present.withLock { $0 }
    }

    private func remove(_ target: any SyncTarget, _ stop: String?) async throws(TransferFailure) {
        guard !plan.removals.isEmpty else { return }
        if let reason = stop ?? tally.failureStop { return tally.stopDeletion(reason) }
        let missing = try await source.missing(of: plan.removals.map(\.entry.path))
        let removals = plan.removals.filter { missing.contains($0.entry.path) }
        for removal in plan.removals where !missing.contains(removal.entry.path) {
            tally.add(removal, .removed, .sourceChanged, "The source has it again.")
        }
        let tally = tally
        try await remove(removals, target) { tally.add($0, .removed, $1, $2) }
    }

    /// Sets attributes of folders at the end, because changes in them have changed their times.
    private func setFolders(_ target: any SyncTarget) async throws(TransferFailure) {
        let tally = tally
        let told = Set(plan.folderAttributes.filter(\.isTold).map(\.entry.path))
        let unmade = tally.unmade
        let folders = plan.folderAttributes.map(\.entry).filter { !unmade.contains($0.path) }
        try await target.set(folders) { entry, result, message in
            let isTold = told.contains(entry.path)
            if isTold || result != .completed { tally.add(entry, .attributes, result, message) }
        }
    }

    private func setTop(_ target: any SyncTarget) async throws(TransferFailure) {
        guard plan.top.isSet, let top else { return }
        let report = try await target.setTop(top, keepsOwner: options.keepsOwners)
        if plan.top.isTold || report.result != .completed { tally.add(top: report) }
    }
}

extension SyncTree.Fault {
    fileprivate init(staying names: UnlistedNames) {
        let end = names.count == 1 ? "It stays; remove it there." : "They stay; remove them there."
        self.init(path: names.folder, message: "\(names.words) \(end)")
    }
}

extension SyncPlan {
    /// Whether there is nothing to do.
    var isEmpty: Bool {
        unlocked.isEmpty && obstacles.isEmpty && folders.isEmpty && moves.isEmpty && files.isEmpty && links.isEmpty
            && conflicts.isEmpty && hardLinks.isEmpty && removals.isEmpty && attributes.isEmpty
            && folderAttributes.isEmpty && !top.isSet
    }
}
