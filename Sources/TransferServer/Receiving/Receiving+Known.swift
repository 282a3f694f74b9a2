import TransferCatalog
import TransferModel
import TransferProtocol
import TransferStore

extension Receiving {
    /// The acknowledgement that the id already has, as long as the stored file is surely what was acknowledged.
    ///
    /// - Parameter path: that `begin` asks for.
    /// - Throws: `contentMismatch` when the content cannot be the same.
    func acknowledgement(_ path: RelativePath) throws(StoreError) -> UploadResult? {
        // The id of a part is never acknowledged.
        if case .part = begin.scope { return nil }
        guard let entry = context.acknowledgement(of: begin.id, begin.digest, for: client, hasRotten: true) else {
            return nil
        }
        guard begin.size ?? entry.size == entry.size else { throw .otherContent }
        return UploadResult(again: entry, run: run, path: path.string)
    }
}

extension ServerContext {
    /// The acknowledgement of an upload, if it still promises all that a new one would. By the identity of the stored file
    /// alone: a question of a few bytes must not cost more than a look. What only reading could tell, because the file was
    /// touched or copied, is unknown, and so is what is not durable where that can be had now: its content is sent once.
    ///
    /// - Parameter hasRotten: whether any stored file may be known to be rotten; it costs a question about each.
    func acknowledgement(
        of id: UploadID, _ function: DigestFunction, for client: ClientView, hasRotten: Bool
    ) -> CatalogEntry? {
        guard let entry = known.entry(for: id), entry.digest?.algorithm.function == function,
            let path = try? RelativePath(entry.path), client.sees(path), let identity = store.identity(at: path),
            identity == entry.identity, entry.isDurable || store.durability != .commit,
            !hasRotten || !known.isRotten(path, identity)
        else { return nil }
        return entry
    }
}

extension StoreError {
    static let otherContent = StoreError(.contentMismatch, "The upload id was used for other content.")
}
