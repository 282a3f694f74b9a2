import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// Lets a copy of a directory keep what was acknowledged in the original. Files are known by versions, which no copy has. So a file
/// whose path, size and time of modification are those of an upload is made durable and read, once; and where its digest is the
/// upload's, too, all that is known of the upload holds for the file as it is now: id, client, receipt.
///
///            begin: the same home                     a pass over all paths, in which all could be read and nothing was moved
///     undecided ───────────────────────► over ◄───────────────────────────────────────────────────┐
///         └───────────────────────────────────────────► open: step, step, … ──────────────────────┘
///                another home, which the catalog keeps
///
/// Call `begin` before the first upload. If it `isOpen` then, have one thread call `step` until that says that it is over, and `stop`
/// it before the records are closed. What a client asks for meanwhile is adopted at once (`adopt`), unless it is large.
///
/// An upload that was adopted has its file's version, so the next server does not read that again. Safe to call from any thread.
package final class Adoption: Sendable {
    /// How far it is.
    package struct Progress: Equatable, Sendable {
        /// Paths that uploads have, as far as they are counted.
        package var paths: Int?
        /// Paths that were looked at in this pass.
        package var looked = 0
        /// Files that are what was acknowledged.
        package var adopted = 0
        /// Files that nobody has changed, and that are not what was acknowledged.
        package var lost = 0
        /// Files that could not be read in this pass. They are tried again.
        package var unreadable = 0
        /// Bytes of content that were read.
        package var bytes: UInt64 = 0
        /// Whether it waits for a disk or a catalog that fails.
        package var isWaiting = false

        package init() {}
    }

    /// What follows a step.
    package enum Step: Equatable, Sendable {
        case more
        /// There is nothing to be done for a second.
        case wait
        case over
    }

    private enum Phase { case undecided, open, over }

    private struct State {
        var phase = Phase.undecided
        /// Where the directory is.
        var home: DirectoryHome?
        /// Bytes of the last path that was looked at.
        var cursor: [UInt8] = []
        /// `RecentChanges.moves` when the first path was looked at: a file that was moved since may have been passed over.
        var moves = 0
        /// When the next pass may begin, by the monotonic clock; and how long it was waited for the last one.
        var next = Int64.min
        var pause: Int64 = 0
        var progress = Progress()
        /// Files that were read and are not what was acknowledged: asking for them orders no more reading.
        var different: Set<ContentVersion> = []
        /// Files that could not be read in this pass: asking for them orders no more reading.
        var unreadable: Set<ContentVersion> = []
        /// Files that a client has asked for, and that are too large to be read while it waits. They are read before others.
        var wanted: [RelativePath] = []
    }

    /// A file that may be what uploads say.
    fileprivate struct Candidate {
        let path: RelativePath
        let version: ContentVersion
        /// All that is known under the path.
        let entries: [CatalogEntry]
        /// Digests of it that need not be read.
        let known: [Digest]
        let functions: [DigestFunction]
    }

    /// Bytes of a file that is read while a client waits, and of files that are read together. Files of twice this size and more are
    /// begun by clients with a question that can be put off (`later`).
    static let mostAtOnce: UInt64 = 16 << 20

    /// Files that are read together.
    static let filesAtOnce = 32

    /// Files that are remembered for not being what was acknowledged, 40 bytes each; and because they could not be read.
    private static let mostRemembered = 1 << 16

    /// Files that are read before others.
    private static let mostWanted = 256

    /// Nanoseconds before a pass that follows another: from one second it grows to ten minutes.
    private static let pauses: ClosedRange<Int64> = 1_000_000_000...600_000_000_000

    /// Lines of the log about files that cannot be read, in one pass.
    private static let mostLines = 16

    private let known: KnownUploads
    private let records: any UploadRecords
    private let store: any ContentStore
    private let mark: DirectoryMark?
    private let report: @Sendable (IntakeEvent) -> Void
    private let state = Locked(State())
    /// Held during a step, so that `stop` returns when none goes on.
    private let stepping = Locked(())
    private let hasEnded: Atomic<Bool>
    private let isStopped = Atomic(false)

    /// - Parameter mark: nil for a directory that is never a copy.
    init(
        _ known: KnownUploads, _ store: any ContentStore, _ mark: DirectoryMark?,
        report: @escaping @Sendable (IntakeEvent) -> Void
    ) {
        (self.known, records, self.store, self.mark) = (known, known.records, store, mark)
        self.report = report
        hasEnded = Atomic(mark == nil)
        if mark == nil { state.withLock { $0.phase = .over } }
    }

    /// Whether files may be what was acknowledged although their versions are others.
    package var isOpen: Bool { !hasEnded.load(ordering: .acquiring) }

    /// How far it is; nil when there is nothing to adopt.
    package var progress: Progress? { isOpen ? state.withLock { $0.progress } : nil }

    /// No step goes on when this returns, and none does anything any more.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        stepping.withLock { _ in }
    }
}

// MARK: Where it is

extension Adoption {
    /// Finds out whether the directory is a copy. If that cannot be told now, the first step tries again.
    package func begin() {
        stepping.withLock { _ in
            do throws(Failure) { try decide() } catch { wait() }
        }
    }

    private func decide() throws(Failure) {
        guard let mark, state.withLock({ $0.phase == .undecided }) else { return }
        try asking { () throws(RecordsError) in
            let kept = try records.home()
            if let kept, kept.home == mark.read() {
                return kept.isAdopting ? open(kept.home) : end()
            }
            // Without a home and without uploads it is new.
            let isAdopting = kept == nil ? try records.count() > 0 : true
            let rotten = isAdopting ? try rottenFiles() : []
            let home = try make(mark)
            try records.keep(KnownHome(home, isAdopting: isAdopting), rotten: rotten, voidsOthers: kept != nil)
            isAdopting ? open(home) : end()
            if kept != nil, isAdopting { report(.directoryCopied) }
        }
    }

    private func make(_ mark: DirectoryMark) throws(RecordsError) -> DirectoryHome {
        do throws(SystemError) {
            return try mark.make().get()
        } catch {
            throw RecordsError(.unavailable, "The server's directory cannot be marked: \(error.reason).")
        }
    }

    /// The copy has what the original had lost as it was there, until it was read: a backup may be from before that.
    private func rottenFiles() throws(RecordsError) -> [RottenFile] {
        try records.rottenPaths().compactMap { path, file in
            guard let path = RelativePath(stored: path), let version = store.version(at: path),
                version.hasSameRevision(as: file.version)
            else { return nil }
            return RottenFile(version: version, digest: file.digest)
        }
    }

    private func open(_ home: DirectoryHome) {
        state.withLock { state in
            (state.phase, state.home) = (.open, home)
            state.moves = known.recentChanges.moves
        }
    }

    private func end() {
        state.withLock { state in
            state.phase = .over
            (state.different, state.unreadable, state.wanted) = ([], [], [])
        }
        hasEnded.store(true, ordering: .releasing)
    }
}

// MARK: In the background

extension Adoption {
    /// Looks at some more paths, and reads some files.
    ///
    /// - Parameter progress: is told of every piece that was read, in bytes, and may take its time. It is not told of what a client
    ///   waits for.
    package func step(_ progress: (Int) -> Void = { _ in }) -> Step {
        stepping.withLock { _ in
            guard !isStopped.load(ordering: .acquiring) else { return .over }
            do throws(Failure) {
                try decide()
                guard isOpen else { return .over }
                let now = known.clock.monotonic()
                guard state.withLock({ $0.next <= now || !$0.wanted.isEmpty }) else { return .wait }
                try adoptSome(progress)
                state.withLock { $0.progress.isWaiting = false }
                return isOpen ? .more : .over
            } catch {
                wait()
                return .wait
            }
        }
    }

    private func wait() { state.withLock { $0.progress.isWaiting = true } }

    private func adoptSome(_ progress: (Int) -> Void) throws(Failure) {
        if let path = state.withLock({ $0.wanted.popLast() }) {
            if let candidate = try candidate(at: path) {
                _ = try judge([candidate]) { _ in !isStopped.load(ordering: .relaxed) }
            }
            return
        }
        if state.withLock({ $0.progress.paths == nil }) {
            let count = try asking { () throws(RecordsError) in try records.pathCount() }
            state.withLock { $0.progress.paths = count }
        }
        let cursor = state.withLock { state in
            if state.cursor.isEmpty { state.progress.unreadable = state.unreadable.count }
            return state.cursor
        }
        let page = try asking { () throws(RecordsError) in try records.paths(after: cursor) }
        guard !page.paths.isEmpty else { return try endPass() }
        try adopt(page, progress)
    }

    /// Looks at the paths of a page up to one with which there is enough to read.
    private func adopt(_ page: (paths: [String], end: [UInt8]), _ progress: (Int) -> Void) throws(Failure) {
        let paths = page.paths.map(RelativePath.init(stored:))
        var versions = store.versions(at: paths.compactMap(\.self))[...]
        let entries = try entries(at: page.paths)
        var (candidates, bytes, looked, end) = ([Candidate](), UInt64(0), 0, page.end)
        for ((text, path), entries) in zip(zip(page.paths, paths), entries) {
            looked += 1
            guard let path, let version = versions.popFirst() ?? nil, let candidate = candidate(path, version, entries)
            else { continue }
            candidates.append(candidate)
            bytes = bytes.addingClamped(version.size)
            if candidates.count >= Self.filesAtOnce || bytes >= Self.mostAtOnce {
                end = Array(text.utf8)
                break
            }
        }
        let isWhole = try judge(candidates) { count in
            progress(count)
            return !isStopped.load(ordering: .relaxed) && state.withLock { $0.wanted.isEmpty }
        }
        guard isWhole else { return }
        state.withLock { state in
            state.cursor = end
            state.progress.looked += looked
        }
    }

    private func endPass() throws(Failure) {
        let isOver = state.withLock { state in
            let moves = known.recentChanges.moves
            guard state.moves != moves || !state.unreadable.isEmpty else { return true }
            // An adopted file costs a look, and is not read again.
            (state.moves, state.cursor, state.progress.looked) = (moves, [], 0)
            state.pause = min(max(state.pause &* 2, Self.pauses.lowerBound), Self.pauses.upperBound)
            state.next = known.clock.monotonic().addingReportingOverflow(state.pause).partialValue
            state.unreadable = []
            return false
        }
        guard isOver else { return }
        try asking { () throws(RecordsError) in try records.endAdoption() }
        let progress = state.withLock { $0.progress }
        end()
        if progress.adopted + progress.lost > 0 { report(.directoryAdopted(progress)) }
    }

    private func entries(at paths: [String]) throws(Failure) -> [[CatalogEntry]] {
        known.indexIfNeeded()
        return try asking { () throws(RecordsError) in try records.entries(at: paths) }
    }

    private func asking<T>(_ body: () throws(RecordsError) -> T) throws(Failure) -> T {
        do throws(RecordsError) {
            return try body()
        } catch {
            known.complain(error, unrecorded: 0)
            throw Failure(error.reason == .busy ? .busy : .storageFailed, error.message)
        }
    }
}

// MARK: Judging files

extension Adoption {
    /// What is under a path, if it may be what uploads say; nil where it is known as it is, or is surely something else.
    private func candidate(at path: RelativePath) throws(Failure) -> Candidate? {
        guard let version = store.version(at: path) else { return nil }
        return candidate(path, version, try entries(at: [path.string]).first ?? [])
    }

    private func candidate(_ path: RelativePath, _ version: ContentVersion, _ entries: [CatalogEntry]) -> Candidate? {
        let wanted = entries.filter { $0.mayBeCopied(to: version) }
        guard !wanted.isEmpty else { return nil }
        let isRotten = known.mayBeRotten(version)
        let known = isRotten ? [] : entries.filter { $0.version == version && $0.isDurable }.compactMap(\.digest)
        let functions = Set(wanted.compactMap(\.digest?.algorithm.function))
            .subtracting(known.map(\.algorithm.function))
        return Candidate(
            path: path, version: version, entries: entries, known: known,
            functions: functions.sorted { $0.rawValue < $1.rawValue })
    }

    /// Reads files, and lets the catalog know what they are.
    ///
    /// - Returns: whether all of them were read, as far as they can be.
    private func judge(_ candidates: [Candidate], _ progress: (Int) -> Bool) throws(Failure) -> Bool {
        guard !candidates.isEmpty, let rereads = store.rereads else { return true }
        var read: UInt64 = 0
        let unread = candidates.filter { !$0.functions.isEmpty }
        var readings = try rereads.reread(
            unread.map { ContentQuery(path: $0.path, functions: $0.functions) },
            progress: { count in
                read = read.addingClamped(UInt64(clamping: count))
                return progress(count)
            })[...]
        let home = state.withLock { $0.home }
        var (adoptions, different, isWhole) = (Adoptions(), [ContentVersion](), true)
        for candidate in candidates {
            var digests = candidate.known
            if !candidate.functions.isEmpty {
                switch readings.popFirst() ?? .left {
                case .read(candidate.version, let found): digests += found
                // It is another file, and known as such.
                case .read, .changed: continue
                case .left:
                    isWhole = false
                    continue
                case .unreadable(let error):
                    note(unreadable: candidate, error)
                    continue
                }
            }
            let found = candidate.adoptions(digests, home)
            adoptions.files += found.files
            adoptions.rotten += found.rotten
            if found.files.isEmpty { different.append(candidate.version) }
        }
        try asking { () throws(RecordsError) in try records.adopt(adoptions) }
        state.withLock { state in
            state.progress.adopted += Set(adoptions.files.map(\.version)).count
            state.progress.lost += adoptions.rotten.count
            state.progress.bytes = state.progress.bytes.addingClamped(read)
            if state.different.count >= Self.mostRemembered { state.different = [] }
            state.different.formUnion(different)
        }
        return isWhole
    }

    private func note(unreadable candidate: Candidate, _ error: Failure) {
        let isTold = state.withLock { state in
            let isNew =
                state.unreadable.count < Self.mostRemembered && state.unreadable.insert(candidate.version).inserted
            state.progress.unreadable = state.unreadable.count
            return isNew && state.unreadable.count <= Self.mostLines
        }
        if isTold { report(.notAdopted(candidate.path, error)) }
    }
}

extension Adoption.Candidate {
    /// - Parameters:
    ///   - digests: what it is.
    ///   - home: where the directory is.
    fileprivate func adoptions(_ digests: [Digest], _ home: DirectoryHome?) -> Adoptions {
        var result = Adoptions()
        for digest in digests where entries.contains(where: { $0.digest == digest && $0.mayBeCopied(to: version) }) {
            result.files.append(AdoptedFile(path: path.string, digest: digest, version: version))
        }
        // As a scrub judges it: by what was acknowledged last. A file that came since may be an upload that is not recorded yet.
        let last = entries.max { $0.committed < $1.committed }
        if let home, version.touch < home.touch, let last, let digest = last.digest, last.mayBeCopied(to: version),
            result.files.isEmpty, !entries.contains(where: { $0.version == version }),
            digests.contains(where: { $0.algorithm == digest.algorithm && $0 != digest })
        {
            result.rotten.append(RottenFile(version: version, digest: digest))
        }
        return result
    }
}

// MARK: While a client waits

extension Adoption {
    /// What can be said of a file that a client asks for.
    enum Answer: Equatable, Sendable {
        /// What is known of it holds, and nothing else: the catalog says what that is.
        case known

        /// It is too large to be read while the client waits, and is read before others. This says when to ask again.
        case later(Interval)

        /// It cannot be read now, or the catalog fails.
        case unknown
    }

    /// Adopts files at once that are small and have not been read before.
    ///
    /// - Parameter files: with their versions of now; of `filesAtOnce` and `mostAtOnce` bytes together, or one.
    /// - Returns: one answer for each, in their order.
    func adopt(_ files: [(path: RelativePath, version: ContentVersion)]) -> [Answer] {
        guard isOpen else { return files.map { _ in .known } }
        do throws(Failure) {
            let entries = try entries(at: files.map(\.path.string))
            var candidates: [Candidate] = []
            var answers = zip(files, entries).map { file, entries -> Answer in
                guard let candidate = candidate(file.path, file.version, entries) else { return .known }
                if let answer = answer(file.path, file.version) { return answer }
                candidates.append(candidate)
                return .known
            }
            _ = try judge(candidates) { _ in !isStopped.load(ordering: .relaxed) }
            let unreadable = state.withLock(\.unreadable)
            for (index, file) in files.enumerated() where unreadable.contains(file.version) {
                answers[index] = .unknown
            }
            return answers
        } catch {
            return files.map { _ in .unknown }
        }
    }

    func adopt(_ path: RelativePath, _ version: ContentVersion) -> Answer {
        adopt([(path, version)]).first ?? .known
    }

    /// - Returns: what is said without reading; nil for a file that is to be read.
    private func answer(_ path: RelativePath, _ version: ContentVersion) -> Answer? {
        state.withLock { state in
            if state.different.contains(version) { return .known }
            if state.unreadable.contains(version) { return .unknown }
            guard version.size > Self.mostAtOnce else { return nil }
            // In doubt, or while the catalog fails, that would never come.
            guard !state.progress.isWaiting else { return .unknown }
            if state.wanted.count < Self.mostWanted, !state.wanted.contains(path) { state.wanted.append(path) }
            return .later(.seconds(min(30, 1 + Double(version.size) / Self.usualRate)))
        }
    }

    /// Bytes of a file that are read in a second, by a slow disk.
    private static let usualRate: Double = 100e6

    /// Whether an upload may still hold although the file's version is another one.
    func isPending(_ entry: CatalogEntry, _ version: ContentVersion) -> Bool {
        isOpen && entry.mayBeCopied(to: version) && !state.withLock { $0.different.contains(version) }
    }

    /// Whether what a client has stored is this file, by what can be said of it now: one that is not read yet counts.
    func counts(_ entry: CatalogEntry, as version: ContentVersion) -> Bool {
        guard let known = entry.version else { return false }
        return known.hasSameContent(as: version) || isPending(entry, version)
    }
}

extension CatalogEntry {
    /// Whether a file may be a copy of what this upload has stored.
    fileprivate func mayBeCopied(to file: ContentVersion) -> Bool {
        guard digest != nil, let version else { return false }
        return version != file && version.hasSameRevision(as: file)
    }
}
