import Glibc
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// Updates the catalog to the files that are stored, as far as possible: unknown files are added, changed files get new entries, and
/// missing files are removed. Stored files are not touched.
///
/// An upload whose content is gone must not be acknowledged by an old entry. So entries of changed and missing files are removed with their
/// IDs. Entries of rotten files stay: they state which content would heal the file.
final class CatalogRepair: Sendable {
    private struct State {
        var found: [CatalogEntry] = []
        /// Files of a copied directory that have the acknowledged content.
        var adoptions = Adoptions()
        /// Paths whose entries are to be removed.
        var verdicts: [RelativePath: ScrubFinding.Kind] = [:]
        /// IDs of the new entries of changed files, which stay.
        var own: Set<UploadID> = []
        var done = ScrubSummary.Repairs()
    }

    /// Entries that are recorded or adopted in one transaction.
    private static let batchSize = 512

    /// Whether the old catalog was lost or damaged.
    let isCatalogNew: Bool

    private let catalog: Catalog
    private let state = Locked(State())

    private init(_ catalog: Catalog, isNew: Bool, movedTo: String?) {
        self.catalog = catalog
        isCatalogNew = isNew
        state.withLock { $0.done.movedTo = movedTo }
    }

    /// Opens the catalog, or a new one in place of one that is lost or damaged. No server may be running.
    static func open(_ path: String) throws(ServerError) -> (CatalogRepair, PathOwners) {
        do throws(RecordsError) {
            let movedTo = try moveDamaged(path)
            let isNew = access(path, F_OK) != 0
            // Creates the database, or updates its schema.
            let catalog = Catalog(path: path, isDurable: true) { _ in }
            _ = try catalog.count()
            return (CatalogRepair(catalog, isNew: isNew, movedTo: movedTo), try PathOwners(path: path))
        } catch {
            throw ServerError(error.message)
        }
    }

    /// - Returns: the new path of a damaged catalog; nil if it was not damaged.
    private static func moveDamaged(_ path: String) throws(RecordsError) -> String? {
        do throws(RecordsError) {
            _ = try PathOwners(path: path)
            return nil
        } catch {
            if error.reason == .unknownVersion { throw error }
            return error.condemns ? try Catalog.moveAside(path: path) : nil
        }
    }

    /// - Parameter version: of the file; nil if the path has no file.
    func take(_ finding: ScrubFinding, _ path: RelativePath, _ version: ContentVersion?) throws(RecordsError) {
        let full = state.withLock { state -> [CatalogEntry] in
            switch finding.kind {
            case .untracked: state.done.added += 1
            case .changed, .missing: state.verdicts[path] = finding.kind
            case .rotten, .unreadable: return []
            }
            if finding.kind == .untracked || finding.kind == .changed, let version {
                let entry = CatalogEntry(found: path, digest: finding.found, version: version, at: utcNanoseconds())
                if finding.kind == .changed { state.own.insert(entry.id) }
                state.found.append(entry)
            }
            guard state.found.count >= Self.batchSize else { return [] }
            defer { state.found = [] }
            return state.found
        }
        try catalog.record(full)
    }

    /// Makes an acknowledgement valid for the same file in a copy of the directory.
    ///
    /// - Parameter sync: makes names durable; if it throws, no file is adopted.
    func adopt(_ file: AdoptedFile, sync: () throws(Failure) -> Void) throws(RecordsError) {
        let full = state.withLock { state -> Adoptions in
            state.adoptions.files.append(file)
            guard state.adoptions.files.count >= Self.batchSize else { return Adoptions() }
            defer { state.adoptions = Adoptions() }
            return state.adoptions
        }
        try adopt(full, sync)
    }

    private func adopt(_ adoptions: Adoptions, _ sync: () throws(Failure) -> Void) throws(RecordsError) {
        guard !adoptions.isEmpty else { return }
        do throws(Failure) { try sync() } catch { throw RecordsError(.failed, error.message) }
        try catalog.adopt(adoptions)
        state.withLock { $0.done.adopted += adoptions.files.count }
    }

    /// Completes the repair when all files are known.
    ///
    /// - Parameter sync: as in `adopt`.
    func finish(sync: () throws(Failure) -> Void) throws(RecordsError) -> ScrubSummary.Repairs {
        try adopt(state.withLock { $0.adoptions }, sync)
        let state = state.withLock { $0 }
        try catalog.record(state.found)
        var done = state.done
        var removed: [UploadID] = []
        if !state.verdicts.isEmpty {
            try catalog.forEachEntry { entry in
                guard !state.own.contains(entry.id), let path = try? RelativePath(entry.path),
                    state.verdicts[path] != nil
                else { return }
                removed.append(entry.id)
            }
        }
        try catalog.remove(removed)
        done.updated = state.own.count
        done.removed = state.verdicts.count { $0.value == .missing }
        return done
    }
}
