import Glibc
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// Makes the catalog say what is there, as far as that can be: strangers enter it, what was changed gets new entries, and
/// what is missing leaves. Stored files stay as they are.
///
/// An upload whose content is gone must not be acknowledged again for it. So entries of changed and missing files go with
/// their ids. Those of rotten ones stay: they say what would heal the file.
final class CatalogRepair: Sendable {
    private struct State {
        var found: [CatalogEntry] = []
        /// Files of a copied directory that are what was acknowledged.
        var adoptions = Adoptions()
        /// Paths whose entries have to go.
        var verdicts: [RelativePath: ScrubFinding.Kind] = [:]
        /// New entries of changed files, which must not go.
        var own: Set<UploadID> = []
        var done = ScrubSummary.Repairs()
    }

    /// Entries in one transaction.
    private static let batchSize = 512

    /// Whether it was lost or damaged.
    let isCatalogNew: Bool

    private let catalog: Catalog
    private let state = Locked(State())

    private init(_ catalog: Catalog, isNew: Bool, movedTo: String?) {
        self.catalog = catalog
        isCatalogNew = isNew
        state.withLock { $0.done.movedTo = movedTo }
    }

    /// Opens the catalog, a new one in place of one that is lost or damaged. No server may be running.
    static func open(_ path: String) throws(ServerError) -> (CatalogRepair, PathOwners) {
        do throws(RecordsError) {
            let movedTo = try moveDamaged(path)
            let isNew = access(path, F_OK) != 0
            // Makes it, or brings it up to date.
            let catalog = Catalog(path: path, isDurable: true) { _ in }
            _ = try catalog.count()
            return (CatalogRepair(catalog, isNew: isNew, movedTo: movedTo), try PathOwners(path: path))
        } catch {
            throw ServerError(error.message)
        }
    }

    /// - Returns: where it is now, if it was damaged.
    private static func moveDamaged(_ path: String) throws(RecordsError) -> String? {
        do throws(RecordsError) {
            _ = try PathOwners(path: path)
            return nil
        } catch {
            if error.reason == .unknownVersion { throw error }
            return error.condemns ? try Catalog.moveAside(path: path) : nil
        }
    }

    /// - Parameter version: of the file, where there is one.
    func take(_ finding: ScrubFinding, _ path: RelativePath, _ version: ContentVersion?) throws(RecordsError) {
        let full = state.withLock { state -> [CatalogEntry] in
            switch finding.kind {
            case .stranger: state.done.added += 1
            case .changed, .missing: state.verdicts[path] = finding.kind
            case .rotten, .unreadable: return []
            }
            if finding.kind == .stranger || finding.kind == .changed, let version {
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

    /// Lets what was acknowledged hold for a file that is the same in a copy of the directory.
    ///
    /// - Parameter sync: makes names durable; nothing is adopted where it throws.
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

    /// Does what has to wait until everything is known.
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
