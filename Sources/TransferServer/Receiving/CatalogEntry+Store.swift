import TransferCatalog
import TransferModel
import TransferStore
import TransferSystem

extension CatalogEntry {
    /// An upload that was published.
    ///
    /// - Parameters:
    ///   - isDurable: whether what the store holds is.
    ///   - begun: UTC, in nanoseconds since 1970; so is `committed`.
    /// - Returns: nothing when nothing is stored.
    init?(
        _ published: Published, _ publication: Publication, kind: ContentKind, isDurable: Bool, client: ClientView,
        begun: Int64, committed: Int64, run: UInt64?
    ) {
        let (state, path, identity): (State, RelativePath, FileIdentity?)
        switch published {
        case .committed(let stored, let file): (state, path, identity) = (.committed, stored, file)
        case .restored(let stored, let file), .healed(let stored, let file):
            // Whoever brings the content that somebody else has stored does not become its owner.
            (state, path, identity) = (client.mayReplaceAll ? .committed : .alreadyStored, stored, file)
        case .alreadyStored(let found, let file): (state, path, identity) = (.alreadyStored, found, file)
        case .skipped: return nil
        }
        self.init(
            id: publication.id, state: state, path: path.string, kind: kind, size: publication.size,
            digest: publication.digest, isDurable: isDurable, sender: client.sender, client: client.id, begun: begun,
            committed: committed, run: run, identity: identity)
    }
}
