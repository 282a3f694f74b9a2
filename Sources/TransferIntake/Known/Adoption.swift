import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// Matches the files of a copied directory with what was acknowledged in the original. The catalog knows files by
/// versions, which every copy changes. So each file with the path, size and time of modification of an upload is made
/// durable and read once. If its digest is that of the upload, the file is adopted: all that is known of the upload
/// (id, client, receipt) holds for the file's new version.
///
///            begin: the same home                     a pass over all paths, in which all could be read and nothing was moved
///     undecided ───────────────────────► over ◄───────────────────────────────────────────────────┐
///         └───────────────────────────────────────────► open: step, step, … ──────────────────────┘
///                another home, which the catalog keeps
///
/// Call `begin` before the first upload. If `isOpen` is true then, one thread has to call `step` until it returns
/// `over`; call `stop` before the records are closed. A file that a client asks for meanwhile is adopted at once
/// (`adopt`), unless it is large.
///
/// The catalog keeps the new version of an adopted file, so the next server does not read the file again. Safe to call
/// from any thread.
package final class Adoption: Sendable {
    /// How far the adoption is.
    package struct Progress: Equatable, Sendable {
        /// Number of paths that uploads have; nil before they are counted.
        package var paths: Int?
        /// Number of paths that were compared in this pass.
        package var compared = 0
        /// Number of files that are what was acknowledged.
        package var adopted = 0
        /// Number of files that were not changed since the acknowledgement, but have other content.
        package var mismatched = 0
        /// Number of files that could not be read in this pass. They are tried again.
        package var unreadable = 0
        /// Bytes of content that were read.
        package var bytes: UInt64 = 0
        /// Whether the adoption waits because the disk or the catalog fails.
        package var isWaiting = false

        package init() {}
    }

    /// What the caller of `step` has to do next.
    package enum Step: Equatable, Sendable {
        case more
        /// Wait for a second before the next step.
        case wait
        case over
    }

    private enum Phase { case undecided, open, over }

    private struct State {
        var phase = Phase.undecided
        /// The identity of the directory, as the catalog keeps it.
        var home: DirectoryHome?
        /// Bytes of the last path that was looked at.
        var cursor: [UInt8] = []
        /// `RecentChanges.moves` when the pass began. A file that was moved since may have been missed.
        var moves = 0
        /// When the next pass may begin, in nanoseconds of the monotonic clock, and the pause before the last pass.
        var next = Int64.min
        var pause: Int64 = 0
        var progress = Progress()
        /// Files that were read and are not what was acknowledged. They are not read again when a client asks for them.
        var different: Set<ContentVersion> = []
        /// Files that could not be read in this pass. They are not read again when a client asks for them.
        var unreadable: Set<ContentVersion> = []
        /// Files that a client has asked for and that are too large to be read while it waits. They are read before
        /// others.
        var wanted: [RelativePath] = []
    }

    /// A file that may be what uploads have stored.
    fileprivate struct Candidate {
        let path: RelativePath
        let version: ContentVersion
        /// All entries of the catalog with this path.
        let entries: [CatalogEntry]
        /// Digests of the file that are known without reading it.
        let known: [Digest]
        let functions: [DigestFunction]
    }

    /// The most bytes of a file that is read while a client waits, and of files that are read together.
    static let mostAtOnce: UInt64 = 16 << 20

    /// The most files that are read together.
    static let filesAtOnce = 32

    /// The most files that are remembered because they differ from what was acknowledged (40 bytes each), or could not
    /// be read.
    private static let mostRemembered = 1 << 16

    /// The most files that are remembered in `State.wanted`.
    private static let mostWanted = 256

    /// Nanoseconds between two passes. The pause doubles from one second to ten minutes.
    private static let pauses: ClosedRange<Int64> = 1_000_000_000...600_000_000_000

    /// The most log lines about files that cannot be read, in one pass.
    private static let mostLines = 16

    private let known: KnownUploads
    private let records: any UploadRecords
    private let store: any ContentStore
    private let mark: DirectoryMark?
    private let report: @Sendable (IntakeEvent) -> Void
    private let state = Locked(State())
    /// Held during a step, so that `stop` returns after the last step.
    private let stepping = Locked(())
    private let hasEnded: Atomic<Bool>
    private let isStopped = Atomic(false)

    /// - Parameter mark: the mark of the directory; nil for a directory that is never a copy.
    init(
        _ known: KnownUploads, _ store: any ContentStore, _ mark: DirectoryMark?,
        report: @escaping @Sendable (IntakeEvent) -> Void
    ) {
        (self.known, records, self.store, self.mark) = (known, known.records, store, mark)
        self.report = report
        hasEnded = Atomic(mark == nil)
        if mark == nil { state.withLock { $0.phase = .over } }
    }

    /// Whether there may be files that are not adopted yet.
    package var isOpen: Bool { !hasEnded.load(ordering: .acquiring) }

    /// How far the adoption is; nil if there is nothing to adopt.
    package var progress: Progress? { isOpen ? state.withLock { $0.progress } : nil }

    /// Ends the adoption. When this returns, no step is under way, and later steps do nothing.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        stepping.withLock { _ in }
    }
}

// MARK: Whether the directory is a copy

extension Adoption {
    /// Finds out whether the directory is a copy. If that fails, the first step tries again.
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
            // A directory without a home and without uploads is new.
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
            throw RecordsError(.unavailable, "The catalog cannot be marked in the server's directory: \(error.reason).")
        }
    }

    /// Marks of rot for files of the copy, by path: each of these files looks like a rotten file of the original. A
    /// mark is kept until the file is read, because a backup can be older than the rot.
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
    /// - Parameter progress: receives the size of every piece that was read, in bytes, and may block. It is not called
    ///   for files that a client waits for.
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

    /// Looks at the paths of a page until there is enough to read.
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
            state.progress.compared += looked
        }
    }

    private func endPass() throws(Failure) {
        let isOver = state.withLock { state in
            let moves = known.recentChanges.moves
            guard state.moves != moves || !state.unreadable.isEmpty else { return true }
            // In the next pass, adopted files are only looked at, and not read again.
            (state.moves, state.cursor, state.progress.compared) = (moves, [], 0)
            state.pause = min(max(state.pause &* 2, Self.pauses.lowerBound), Self.pauses.upperBound)
            state.next = known.clock.monotonic().addingReportingOverflow(state.pause).partialValue
            state.unreadable = []
            return false
        }
        guard isOver else { return }
        try asking { () throws(RecordsError) in try records.endAdoption() }
        let progress = state.withLock { $0.progress }
        end()
        if progress.adopted + progress.mismatched > 0 { report(.directoryAdopted(progress)) }
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
    /// The file at a path, if it may be what uploads have stored; nil if its version is known, or if it is certainly
    /// something else.
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

    /// Reads files, and records in the catalog which of them are what was acknowledged.
    ///
    /// - Returns: whether all files were read, except those that cannot be read.
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
                // The file was replaced or changed meanwhile. The catalog knows a file that this server has stored in
                // its place.
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
            state.progress.mismatched += adoptions.rotten.count
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
    ///   - digests: the digests of the file.
    ///   - home: the identity of the directory.
    fileprivate func adoptions(_ digests: [Digest], _ home: DirectoryHome?) -> Adoptions {
        var result = Adoptions()
        for digest in digests where entries.contains(where: { $0.digest == digest && $0.mayBeCopied(to: version) }) {
            result.files.append(AdoptedFile(path: path.string, digest: digest, version: version))
        }
        // As in a scrub, the newest entry decides. A file that is newer than the directory's mark may belong to an
        // upload that is not recorded yet, so it does not count as rotten.
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
    /// The result for a file that a client asks for.
    enum Answer: Equatable, Sendable {
        /// The file need not be read any more: the catalog has what is known of it.
        case known

        /// The file is too large to be read while the client waits, and is read next. The value says when to ask again.
        case later(Interval)

        /// The file cannot be read now, or the catalog fails.
        case unknown
    }

    /// Adopts files at once if they are small and were not read before.
    ///
    /// - Parameter files: paths and current versions: either one file, or up to `filesAtOnce` with up to `mostAtOnce`
    ///   bytes together.
    /// - Returns: one answer for each file, in their order.
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

    /// - Returns: the answer that can be given without reading; nil for a file that has to be read.
    private func answer(_ path: RelativePath, _ version: ContentVersion) -> Answer? {
        state.withLock { state in
            if state.different.contains(version) { return .known }
            if state.unreadable.contains(version) { return .unknown }
            guard version.size > Self.mostAtOnce else { return nil }
            // While the disk or the catalog fails, the file would never be read.
            guard !state.progress.isWaiting else { return .unknown }
            if state.wanted.count < Self.mostWanted, !state.wanted.contains(path) { state.wanted.append(path) }
            return .later(.seconds(min(30, 1 + Double(version.size) / Self.usualRate)))
        }
    }

    /// Bytes that a slow disk reads in a second.
    private static let usualRate: Double = 100e6

    /// Whether an upload may still be stored although its file has another version.
    func isPending(_ entry: CatalogEntry, _ version: ContentVersion) -> Bool {
        isOpen && entry.mayBeCopied(to: version) && !state.withLock { $0.different.contains(version) }
    }

    /// Whether the file counts as what the client has stored. A file that is not read yet counts.
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
