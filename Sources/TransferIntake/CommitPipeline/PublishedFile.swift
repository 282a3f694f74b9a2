import TransferModel
import TransferPorts

/// A file that a publication has left under a path, and whose the catalog says it is.
///
/// Nothing else turns a publication's outcome into a record: whatever stores content for a client, an upload or a copy, gives the file
/// to the same owner.
struct PublishedFile {
    let path: RelativePath

    /// Nil if that could not be found out.
    let version: ContentVersion?

    let state: CatalogEntry.State

    /// Whether it is there because of this publication.
    let isNew: Bool

    /// What had the path before.
    let replaced: Acknowledgement.Replacement

    /// What of that is in the trash.
    let kept: KeptFile?

    /// - Parameter publication: what the outcome is of.
    /// - Returns: nil if nothing is stored.
    init?(_ outcome: PublicationOutcome, of publication: Publication, for caller: Caller) {
        switch outcome {
        case .skipped: return nil
        case .committed(let path, let version):
            kept = publication.content.kept
            (self.path, self.version, state, isNew) = (path, version, .committed, true)
            replaced = publication.content.hasReplaced ? .other : .nothing
        // Bringing content that another client has stored does not change its owner.
        case .restored(let path, let version), .healed(let path, let version):
            (self.path, self.version, isNew, replaced, kept) = (path, version, true, .itself, nil)
            state = caller.mayReplaceAll ? .committed : .alreadyStored
        case .alreadyStored(let path, let version):
            (self.path, self.version, state, isNew, replaced) = (path, version, .alreadyStored, false, .nothing)
            kept = nil
        }
    }

    /// What the catalog is to keep of it.
    ///
    /// - Parameters:
    ///   - kind: that the client says.
    ///   - isDurable: whether content and name are synced.
    ///   - begun: when the client began, in nanoseconds since 1970 (UTC); so is `moment`, at which it was published.
    ///   - run: the push that it is part of.
    func entry(
        of publication: Publication, _ kind: ContentKind, isDurable: Bool, by caller: Caller, begun: Int64,
        at moment: Int64, run: UInt64? = nil
    ) -> CatalogEntry {
        var entry = CatalogEntry(
            id: publication.id, state: state, path: path.string, kind: kind, size: publication.size,
            digest: publication.digest, isDurable: isDurable, sender: caller.sender, client: caller.id, begun: begun,
            committed: moment, run: run, version: version, hasReplaced: replaced == .other)
        entry.kept = kept
        return entry
    }
}
