import TransferCatalog
import TransferCodec
import TransferDatabase
package import TransferModel
package import TransferStore
import TransferSystem

/// Compares what was acknowledged for the files of one folder, and still holds, with what a caller says by a digest: what
/// `IntakeSession.lookup` would answer for each, without a word about any of them. Belongs to one task at a time.
package final class FolderComparison {
    private let intake: Intake
    private let caller: Caller
    private let folder: RelativePath?
    private let function: DigestFunction
    private let wanted: FolderDigest
    private let query: KnownFiles.Query
    private var next: [UInt8]
    private let hasRotten: Bool
    /// Whether all that was acknowledged before was brought in order.
    private var isSettled = false

    /// Of each file the newest upload, whoever has sent it.
    private var newest = FolderDigester()

    /// Of each file the newest that the caller has sent; none of the files that others have.
    private var own = FolderDigester()

    /// - Parameters:
    ///   - path: of the folder, as the caller knows it; empty for its own top.
    ///   - function: what the uploads' digests have to be computed with.
    /// - Throws: `forbidden` for a caller that may not send; `invalidPath`.
    package init(
        _ intake: Intake, _ caller: Caller, path: String, _ function: DigestFunction, _ wanted: FolderDigest
    ) throws(StoreError) {
        folder = try caller.sendable(path)
        (self.intake, self.caller, self.function, self.wanted) = (intake, caller, function, wanted)
        query = KnownFiles.Query(folder, client: caller.id, sender: caller.sender)
        next = query.prefix
        hasRotten = intake.known.hasRotten
    }

    /// Looks at some more files.
    ///
    /// - Returns: whether they are the same, once that is known.
    package func step() -> Bool? {
        let page = intake.known.files(query, after: next)
        add(page.files)
        // Neither can become the same any more.
        let isTooMuch = newest.count > wanted.count && own.count > wanted.count
        if let next = page.next, !isTooMuch {
            self.next = next
            return nil
        }
        if own.digest == wanted || newest.digest == wanted { return true }
        return mayBeUnsettled() ? nil : false
    }

    /// What came a moment ago is not found by its folder yet. To bring it in order costs a sync, so it is done once, and only where
    /// the answer would be no.
    ///
    /// - Returns: whether to begin anew.
    private func mayBeUnsettled() -> Bool {
        guard !isSettled, intake.known.hasUnsettled else { return false }
        intake.known.settleIfNeeded()
        (isSettled, next) = (true, query.prefix)
        (newest, own) = (FolderDigester(), FolderDigester())
        return true
    }

    private func add(_ files: [KnownFile]) {
        var rest = files[...]
        var names: [ArraySlice<KnownFile>] = []
        while let first = rest.first {
            let uploads = rest.prefix { $0.name.hasSameBytes(as: first.name) }
            names.append(uploads)
            rest = rest.dropFirst(uploads.count)
        }
        let versions = intake.store.versions(of: names.lazy.compactMap { $0.first?.name }, in: folder)
        for (uploads, version) in zip(names, versions) {
            guard let version, isSound(uploads, version) else { continue }
            let kept = uploads.filter { promises($0) && $0.version == version }
            if let upload = kept.max(by: { $0.number < $1.number }) { newest.add(caller.outer(upload.id)) }
            if let upload = kept.lazy.filter(\.isOwn).max(by: { $0.number < $1.number }) {
                own.add(caller.outer(upload.id))
            }
        }
    }

    /// Whether an acknowledgement promises what one of now would.
    private func promises(_ file: KnownFile) -> Bool {
        file.function == function && (file.isDurable || intake.store.durability != .commit)
    }

    private func isSound(_ uploads: ArraySlice<KnownFile>, _ version: ContentVersion) -> Bool {
        guard hasRotten, let name = uploads.first?.name else { return true }
        guard let path = try? RelativePath((folder.map { $0.string + "/" } ?? "") + name) else { return false }
        return !intake.known.isRotten(path, version)
    }
}
