import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// Creates what an archive keeps besides the content of files, after the files are there: symbolic links, other names
/// of files, and attributes. Folders get their attributes last, the innermost first, because every change in a folder
/// changes its time.
struct ArchiveFinish: Sendable {
    let target: any SyncTarget
    let notes: ArchiveNotes
    let conflict: ConflictPolicy
    let keeping: AttributeKeeping

    /// Whether to set the attributes of folders even if they are right already: a server then confirms that the folders
    /// are durable.
    let asksForAll: Bool

    /// Whether an existing entry is a file with the same content as the given stored file.
    let hasContent: @Sendable (_ there: SyncEntry, _ file: ArchiveNotes.Stored) -> Bool

    /// Transfers and reports files under their second names because their first names were not available.
    let take: @Sendable (_ names: [ArchiveItem]) async -> Result<Void, TransferFailure>

    let report: @Sendable (_ item: ArchiveItem, _ outcome: ArchiveOutcome) -> Void

    /// The number of conflicts with entries that did not exist when the name was chosen; after that many, the search
    /// for a numbered name ends.
    private static let mostSurprises = 16

    func run() async throws(TransferFailure) {
        let target = target
        try await place(notes.links) { (attempts, replaces, report) async throws(TransferFailure) in
            let found = Dictionary(attempts.map { ($0.path, $0) }) { first, _ in first }
            try await target.makeLinks(attempts.map(\.entry), replaces: replaces) { link, result, message in
                if let attempt = found[link.path] { report(attempt, result, message) }
            }
        }
        try await place(try await namesToMake()) { (attempts, replaces, report) async throws(TransferFailure) in
            let found = Dictionary(attempts.map { ($0.path, $0) }) { first, _ in first }
            try await target.makeHardLinks(attempts.compactMap(\.hardLink), replaces: replaces) {
                link, result, message in
                if let attempt = found[link.entry.path] { report(attempt, result, message) }
            }
        }
        try await setFiles()
        try await setFolders()
    }

    /// Sets the attributes of folders after `run` has failed, because folders that were opened must get their own
    /// permissions.
    func closeFolders() async { try? await setFolders() }

    private func tell(_ item: ArchiveItem, _ outcome: ArchiveOutcome) {
        guard notes.reports(item) else { return }
        if outcome.result == .committed { notes.touch(outcome.path.parent) }
        report(item, outcome)
    }
}

// MARK: Links and names

extension ArchiveFinish {
    /// One attempt to create an entry under one name.
    private struct Attempt: Sendable {
        let item: ArchiveItem
        /// For another name of a file: the file as it was stored under its first name. Nil for a symbolic link.
        let first: ArchiveNotes.Stored?
        var path: RelativePath
        var number = 0
        var surprises = 0
        /// Whether the same entry exists already.
        var isThere = false

        init(_ item: ArchiveItem, _ first: ArchiveNotes.Stored?) {
            (self.item, self.first, path) = (item, first, item.path)
        }

        var entry: SyncEntry { item.entry.at(path) }
        var hardLink: SyncPlan.HardLink? { first.map { SyncPlan.HardLink(entry: entry, first: $0.path) } }

        /// - Returns: false if no other name is left.
        mutating func takeNextName() -> Bool {
            guard number < ConflictPolicy.mostNumbers, let next = try? item.path.numbered(number + 1) else {
                return false
            }
            (number, path) = (number + 1, next)
            return true
        }
    }

    private typealias Answer = @Sendable (Attempt, ResultCode, String) -> Void

    /// Creates each entry under a name that the conflict policy allows. An entry waits for the next round if another
    /// entry gets the same name in this round.
    private func place(
        _ items: [ArchiveItem],
        _ make: ([Attempt], _ replaces: Bool, @escaping Answer) async throws(TransferFailure) -> Void
    ) async throws(TransferFailure) {
        var waiting = items.map { Attempt($0, stored($0)) }
        while !waiting.isEmpty {
            var (round, later): ([Attempt], [Attempt]) = ([], [])
            var taken: Set<RelativePath> = []
            for attempt in waiting {
                guard let next = choose(attempt) else { continue }
                if taken.insert(next.path).inserted { round.append(next) } else { later.append(next) }
            }
            let again = Locked<[Attempt]>([])
            try await make(round, conflict == .overwrite) { [self] attempt, result, message in
                if let next = settle(attempt, result, message) { again.withLock { $0.append(next) } }
            }
            waiting = later + again.withLock { $0 }
        }
    }

    private func stored(_ item: ArchiveItem) -> ArchiveNotes.Stored? {
        guard item.form == .hardLink, case .stored(let stored) = notes.first(of: item.entry.named) else { return nil }
        return stored
    }

    /// Chooses the next name to try.
    ///
    /// - Returns: nil if the entry is not to be created; its outcome has then been reported.
    private func choose(_ attempt: Attempt) -> Attempt? {
        if let failure = attempt.path.folders.lazy.compactMap({ notes.failure(of: $0) }).first {
            tell(attempt.item, ArchiveOutcome(result: failure.code, path: attempt.path, message: failure.message))
            return nil
        }
        var attempt = attempt
        while let there = notes.there(attempt.path) {
            attempt.isThere = isSame(there, attempt)
            guard !attempt.isThere, conflict != .overwrite else { break }
            if let first = attempt.first, there.isFile, hasContent(there, first) {
                let message = "It has the same content already, and stays a separate file instead of a hard link."
                var outcome = ArchiveOutcome(result: .alreadyStored, path: attempt.path, message: message)
                outcome.isAsked = false
                tell(attempt.item, outcome)
                return nil
            }
            guard conflict == .keepBoth, attempt.takeNextName() else {
                conflicts(attempt)
                return nil
            }
        }
        return attempt
    }

    private func conflicts(_ attempt: Attempt) {
        let isSkipped = conflict == .skip
        tell(
            attempt.item,
            ArchiveOutcome(
                result: isSkipped ? .skipped : .pathConflict, path: attempt.path,
                message: "Another entry with the name \(attempt.path) exists."))
    }

    /// - Returns: the next attempt; nil if the outcome of the entry was reported.
    private func settle(_ attempt: Attempt, _ result: ResultCode, _ message: String) -> Attempt? {
        if result == .pathConflict, conflict == .skip {
            conflicts(attempt)
            return nil
        }
        var next = attempt
        next.surprises += 1
        if result == .pathConflict, conflict == .keepBoth, next.surprises < Self.mostSurprises, next.takeNextName() {
            return next
        }
        let done: ResultCode = attempt.isThere ? .alreadyStored : .committed
        tell(
            attempt.item,
            ArchiveOutcome(result: result == .completed ? done : result, path: attempt.path, message: message))
        return nil
    }

    private func isSame(_ there: SyncEntry, _ attempt: Attempt) -> Bool {
        guard let first = attempt.first else { return there.form == attempt.entry.form }
        return !first.isNew && there.named != nil && there.named == notes.there(first.path)?.named
    }

    /// Transfers a file under its second name if its first name was not available.
    ///
    /// - Returns: the names that can be created, because their files were stored.
    private func namesToMake() async throws(TransferFailure) -> [ArchiveItem] {
        var names = notes.names
        while true {
            var chosen: Set<SyncEntry.NamedFile> = []
            let firsts = names.filter { name in
                guard case .failed(let code) = notes.first(of: name.entry.named), let file = name.entry.named,
                    code == .skipped || code == .pathConflict
                else { return false }
                return chosen.insert(file).inserted
            }
            guard !firsts.isEmpty else { break }
            let taken = Set(firsts.map { ObjectIdentifier($0) })
            names.removeAll { taken.contains(ObjectIdentifier($0)) }
            for first in firsts { notes.makeFirst(first) }
            try await take(firsts).get()
        }
        return names.filter { name in
            guard stored(name) == nil else { return true }
            tell(
                name,
                ArchiveOutcome(
                    result: .incomplete, path: name.path,
                    message: "The file that this hard link belongs to was not fetched."
                ))
            return false
        }
    }
}

// MARK: Attributes

extension ArchiveFinish {
    private func setFiles() async throws(TransferFailure) {
        try await set(notes.present) { item, result, message in
            tell(
                item,
                ArchiveOutcome(
                    result: result == .completed ? .alreadyStored : result, path: item.path, message: message,
                    hasNewAttributes: result == .completed))
        }
    }

    /// Creates the missing folders, the outermost first.
    func makeFolders() async throws(TransferFailure) {
        let missing = notes.folders.filter { item in
            notes.failure(of: item.path) == nil && !notes.isTouched(item.path)
                && !(notes.there(item.path)?.isFolder ?? false)
        }
        let links = conflict == .overwrite ? Set(missing.map(\.path).filter { notes.there($0) != nil }) : []
        var seen: Set<RelativePath> = []
        let entries = missing.map(\.entry).filter { seen.insert($0.path).inserted }
        guard !entries.isEmpty else { return }
        try await target.makeFolders(entries, replacing: links) { [notes] folder, result, message in
            guard result == .completed else {
                return notes.cannotMake(folder.path, Failure(result, message))
            }
            notes.touch(folder.path)
            notes.touch(folder.path.parent)
        }
    }

    private func setFolders() async throws(TransferFailure) {
        try await makeFolders()
        let folders = notes.folders.reversed()
        for item in folders where item.isNewFolder { notes.touch(item.path.parent) }
        var changed: [ArchiveItem] = []
        for item in folders {
            if let failure = notes.failure(of: item.path) {
                tell(item, ArchiveOutcome(result: failure.code, path: item.path, message: failure.message))
            } else if asksForAll || item.isNewFolder || notes.isTouched(item.path) || differs(item) {
                changed.append(item)
            } else {
                tell(item, ArchiveOutcome(result: .alreadyStored, path: item.path))
            }
        }
        try await set(changed) { item, result, message in
            let done: ResultCode = item.isNewFolder ? .committed : .alreadyStored
            tell(
                item,
                ArchiveOutcome(
                    result: result == .completed ? done : result, path: item.path, message: message,
                    hasNewAttributes: result == .completed && !item.isNewFolder && differs(item)))
        }
    }

    private func differs(_ item: ArchiveItem) -> Bool {
        item.there.map { item.entry.differs(from: $0, keeping) } ?? true
    }

    /// Sets the attributes in the order of the items. If several items have the same path, the attributes of the first
    /// one are set.
    private func set(
        _ items: [ArchiveItem], _ answer: @escaping @Sendable (ArchiveItem, ResultCode, String) -> Void
    ) async throws(TransferFailure) {
        guard !items.isEmpty else { return }
        let groups = Dictionary(grouping: items, by: \.path)
        var seen: Set<RelativePath> = []
        let entries = items.map(\.entry).filter { seen.insert($0.path).inserted }
        try await target.set(entries) { entry, result, message in
            for item in groups[entry.path] ?? [] { answer(item, result, message) }
        }
    }
}
