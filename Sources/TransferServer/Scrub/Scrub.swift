import TransferCatalog
import TransferModel
package import TransferPorts
import TransferSystem

/// Reads everything that is stored below a directory and compares it with the catalog.
///
/// It works beside a running server, which can store, replace and record files at the same time. So whatever seems wrong is checked again
/// at the end, against the catalog as it is then. Files so new that the server may still have to record them are only counted. Rotten files
/// are noted in the catalog, with and without a repair.
package final class Scrub: Sendable {
    package struct Configuration: Sendable {
        /// The server's directory on this machine.
        package var directory: String

        /// The folder with the catalog; nil for the server's own folder.
        package var stateDirectory: String?

        /// Files that are read at the same time.
        package var threads = 4

        package var repairsCatalog = false

        package init(directory: String) {
            self.directory = directory
        }
    }

    private struct State {
        var summary = ScrubSummary()
        var suspects: [RelativePath] = []
        var failure: ServerError?
    }

    /// Bytes that are read at once.
    private static let readSize = 256 << 10

    /// Most nanoseconds from the last change of a file to its entry in the catalog.
    private static let recordingTime: Int64 = 10_000_000_000

    private let configuration: Configuration
    private let store: any ScrubStore
    private let walk: any ScrubWalk
    private let lock: (any ScrubLock)?
    private let claims: PathOwners?
    private let repair: CatalogRepair?
    private let report: @Sendable (ScrubFinding) -> Void
    /// Files that were changed after this time can be missing from the catalog still; nil if no server runs.
    private let newest: Int64?
    private let state = Locked(State())
    private let counters = Locked(ScrubProgress())

    /// Opens the catalog.
    ///
    /// - Parameters:
    ///   - store: the store that the catalog describes.
    ///   - report: called with every finding, by one thread at a time.
    /// - Throws: `ServerError` with a sentence that says what to do.
    package init(
        _ configuration: Configuration, _ store: any ScrubStore, report: @escaping @Sendable (ScrubFinding) -> Void
    ) throws(ServerError) {
        (self.store, walk) = (store, store.walk())
        self.configuration = configuration
        self.report = report
        let path = try StateFolder(configuration.stateDirectory, of: configuration.directory, makes: false).catalogPath
        do throws(Failure) {
            lock = configuration.repairsCatalog ? try store.lock() : nil
        } catch {
            let advice = error.code == .busy ? " Stop it first: the catalog is repaired without a server." : ""
            throw ServerError(error.message + advice)
        }
        newest = store.isServed() && lock == nil ? utcNanoseconds() - Self.recordingTime : nil
        if configuration.repairsCatalog {
            let (repair, claims) = try CatalogRepair.open(path)
            (self.repair, self.claims) = (repair, claims)
        } else {
            repair = nil
            do throws(RecordsError) {
                claims = try PathOwners(path: path)
            } catch {
                claims = nil
                state.withLock { $0.summary.catalogFault = error.message }
            }
        }
        if newest == nil { resolveIntended() }
    }

    /// Records changes of a killed server that the catalog does not know of. Without the right to write the catalog, they are reported as
    /// findings.
    private func resolveIntended() {
        guard claims != nil, let held = try? lock ?? store.lock() else { return }
        defer { withExtendedLifetime(held) {} }
        keep { [store] (claims) throws(RecordsError) in
            // The notes of the changes are kept: the next server syncs the names, and checks again.
            let resolved = try claims.resolveIntended(keepsNotes: true) { (path) throws(Failure) in
                try store.object(at: path)
            }
            if resolved > 0 { try claims.refresh() }
        }
    }

    /// The progress so far; may be read by any thread.
    package var progress: ScrubProgress { counters.withLock { $0 } }

    /// Does the whole scrub. To be called once.
    ///
    /// - Throws: `ServerError` if the catalog can no longer be read or written.
    package func run() throws(ServerError) -> ScrubSummary {
        let expected = try? claims?.totals()
        counters.withLock { $0.expected = expected.map { .init(files: $0.uploads, bytes: $0.bytes) } }
        inEachThread { scrub, buffer in
            while !scrub.hasFailed, let entry = scrub.walk.next() { scrub.take(entry, buffer) }
        }
        try lookAgain()
        var summary = state.withLock { $0.summary }
        do throws(RecordsError) {
            summary.repairs = try repair?.finish { [store] () throws(Failure) in try store.syncNames() }
        } catch {
            throw ServerError(error.message)
        }
        do throws(Failure) {
            let unfinished = try store.unfinished()
            summary.unfinished = .init(files: unfinished.count, bytes: unfinished.bytes)
        } catch {
            throw ServerError(error.message)
        }
        return summary
    }

    private var isCatalogLost: Bool { claims == nil || repair?.isCatalogNew ?? false }

    private var hasFailed: Bool { state.withLock { $0.failure != nil } }

    private func inEachThread(_ body: @Sendable (Scrub, UnsafeMutableRawBufferPointer) -> Void) {
        let threads = max(1, configuration.threads)
        inParallel(on: threads, threads) { _ in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
            defer { buffer.deallocate() }
            body(self, buffer)
        }
    }
}

// MARK: First pass

extension Scrub {
    private func take(_ entry: ScrubEntry, _ buffer: UnsafeMutableRawBufferPointer) {
        switch entry {
        case .file(let file): inspect(file.path, file.open(), buffer, isFinal: newest == nil)
        case .foreign(let path, let size): found(ScrubFinding(kind: .untracked, path: path, size: size))
        case .unreadable(let path, let reason):
            found(ScrubFinding(kind: .unreadable, path: path, size: 0, reason: reason))
        case .other: state.withLock { $0.summary.others += 1 }
        }
    }

    /// - Parameter isFinal: whether findings are reported now, rather than checked again.
    private func inspect(
        _ path: RelativePath, _ opened: ScrubOpening, _ buffer: UnsafeMutableRawBufferPointer, isFinal: Bool
    ) {
        do throws(RecordsError) {
            switch opened {
            case .file(let content):
                let entry = try claims?.find(path.string, content.attributes.version)
                try conclude(path, content, entry, buffer, isFinal: isFinal)
                counters.withLock { $0.files += 1 }
            case .unreadable(let reason):
                let entry = try claims?.find(path.string)
                found(
                    ScrubFinding(
                        kind: .unreadable, path: path.string, size: entry?.size ?? 0, recorded: entry?.digest,
                        reason: reason))
            case .absent: break
            case .other: state.withLock { $0.summary.others += 1 }
            }
        } catch {
            state.withLock { $0.failure = ServerError(error.message) }
        }
    }

    private func conclude(
        _ path: RelativePath, _ content: any ScrubContent, _ entry: CatalogEntry?,
        _ buffer: UnsafeMutableRawBufferPointer, isFinal: Bool
    ) throws(RecordsError) {
        let version = content.attributes.version
        let size = version.size
        var finding = ScrubFinding(kind: .untracked, path: path.string, size: size, recorded: entry?.digest)
        if repair != nil || entry?.digest != nil {
            do throws(Failure) {
                // In a copied directory, the content may never have been synced. It is synced before its acknowledgement becomes valid
                // again.
                if repair != nil, entry?.isCopied(to: version) ?? false { try content.sync() }
                finding.found = try digest(content, entry?.digest?.algorithm.function ?? .xxh128, buffer)
            } catch {
                finding.kind = .unreadable
                finding.reason = error.message
                return found(finding)
            }
        }
        if let entry, let recorded = entry.digest {
            guard recorded != finding.found else {
                state.withLock { $0.summary.intact.add(size) }
                if let repair, entry.isCopied(to: version), content.isUnchanged {
                    try repair.adopt(AdoptedFile(path: path.string, digest: recorded, version: version)) {
                        [store] () throws(Failure) in try store.syncNames()
                    }
                }
                return keep { (claims) throws(RecordsError) in
                    try claims.removeRotten(version)
                }
            }
            finding.kind = entry.isTouched(version) || !content.isUnchanged ? .changed : .rotten
        }
        guard isFinal else { return state.withLock { $0.suspects.append(path) } }
        if finding.kind != .rotten, try isRecent(path, content) {
            return state.withLock { $0.summary.recent.add(size) }
        }
        try repair?.take(finding, path, version)
        keep(finding, version)
        found(finding)
    }

    /// Notes rotten files in the catalog, so that a server no longer sends or acknowledges them.
    private func keep(_ finding: ScrubFinding, _ version: ContentVersion) {
        guard finding.kind == .rotten, let recorded = finding.recorded else { return }
        keep { (claims) throws(RecordsError) in
            try claims.add(rotten: RottenFile(version: version, digest: recorded))
        }
    }

    /// Without the right to write the catalog, the scrub still reports its findings.
    private func keep(_ body: (PathOwners) throws(RecordsError) -> Void) {
        guard let claims else { return }
        do throws(RecordsError) {
            try body(claims)
        } catch {
            state.withLock { $0.summary.keepingFault = error.message }
        }
    }

    private func digest(
        _ content: any ScrubContent, _ function: DigestFunction, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(Failure) -> Digest? {
        try content.reread(function, through: buffer) { count in
            counters.withLock { $0.bytes += UInt64(count) }
            return true
        }
    }

    private func found(_ finding: ScrubFinding) {
        state.withLock { state in
            state.summary.findings[finding.kind, default: .init()].add(finding.size)
            // Without a catalog all files are unknown, which is reported once.
            if finding.kind != .untracked || !isCatalogLost { report(finding) }
        }
    }
}

// MARK: Second pass

extension Scrub {
    /// Paths that are read from the catalog at once.
    private static let pageSize = 512

    private func lookAgain() throws(ServerError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        let suspects = Locked(state.withLock { $0.suspects })
        do throws(RecordsError) {
            if newest != nil { try claims?.refresh() }
            inEachThread { scrub, buffer in
                while let path = suspects.withLock({ $0.popLast() }) {
                    scrub.inspect(path, scrub.store.open(path), buffer, isFinal: true)
                }
            }
            try lookForMissing()
        } catch {
            throw ServerError(error.message)
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Whether a running server may still have to record the file.
    private func isRecent(_ path: RelativePath, _ content: any ScrubContent) throws(RecordsError) -> Bool {
        guard let newest else { return false }
        guard content.changed < newest else { return true }
        return try isMoving(path.string)
    }

    /// Whether a running server, or one that has just died, has noted a change of the path and not yet recorded what
    /// became of it.
    private func isMoving(_ path: String) throws(RecordsError) -> Bool {
        guard newest != nil, let noted = try claims?.intended() else { return false }
        return noted.contains { $0.change?.concerns(path) ?? false }
    }

    /// Checks paths of the catalog that the walk did not find: they are missing, unless they exist or can be read by now.
    private func lookForMissing() throws(RecordsError) {
        guard let claims else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        var last = ""
        while case let paths = try claims.missing(after: last, Self.pageSize), let end = paths.last {
            last = end
            for path in paths { try lookFor(path, claims, buffer) }
        }
    }

    private func lookFor(
        _ text: String, _ claims: PathOwners, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(RecordsError) {
        let path = try? RelativePath(text)
        let opened = path.map { store.open($0) } ?? .absent
        if let path {
            switch opened {
            case .file, .unreadable: return inspect(path, opened, buffer, isFinal: true)
            case .absent, .other: break
            }
        }
        // A change is noted before it is made, and the note is removed with the record of what became of the change. So if
        // a server has moved the file, either the note is still there, or the catalog has the new path.
        let isMoving = try isMoving(text)
        let entry = try claims.find(text)
        if newest != nil, entry == nil || isMoving {
            return state.withLock { state in if let entry { state.summary.recent.add(entry.size) } }
        }
        let finding = ScrubFinding(kind: .missing, path: text, size: entry?.size ?? 0, recorded: entry?.digest)
        if let path { try repair?.take(finding, path, nil) }
        // The mark of a rotten file stays: the same file may return to this path, where the catalog still has its entry.
        found(finding)
    }
}

extension IntendedChange {
    /// Whether the change can give or take the path.
    fileprivate func concerns(_ path: String) -> Bool {
        [self.path, target].contains { changed in
            path.hasSameBytes(as: changed) || form == .folder && path.utf8.starts(with: "\(changed)/".utf8)
        }
    }
}

extension CatalogEntry {
    /// Whether the file can be a copy of what this upload has stored.
    fileprivate func isCopied(to file: ContentVersion) -> Bool {
        version.map { $0 != file && $0.hasSameRevision(as: file) } ?? false
    }

    /// Whether the file was changed, which gives it another revision. Another object or time alone proves little, because a copy of the
    /// whole directory has others.
    fileprivate func isTouched(_ file: ContentVersion) -> Bool {
        size != file.size || version.map { !$0.hasSameRevision(as: file) } ?? false
    }
}
