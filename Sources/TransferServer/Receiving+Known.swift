import TransferCatalog
import TransferProtocol
import TransferStore

extension Receiving {
    /// The acknowledgement that the id already has, as long as the stored file is what it says.
    ///
    /// - Parameter path: that `begin` asks for.
    /// - Throws: `contentMismatch` when the content cannot be the same, and what reading the stored file throws.
    func acknowledgement(_ path: RelativePath) throws(StoreError) -> UploadResult? {
        // The id of a part is never acknowledged.
        if case .part = begin.scope { return nil }
        guard let entry = context.known.entry(for: begin.id), entry.digest?.algorithm.function == begin.digest,
            let held = try held(entry)
        else { return nil }
        guard begin.size ?? held.size == held.size else { throw .otherContent }
        return UploadResult(again: held, run: run, path: path.string)
    }

    /// The entry, brought up to date, if the stored file is still what was acknowledged. One that was touched is read, and
    /// so is one that was acknowledged without being durable where that can be had now.
    private func held(_ entry: CatalogEntry) throws(StoreError) -> CatalogEntry? {
        guard let path = try? RelativePath(entry.path), client.sees(path), let digest = entry.digest,
            let identity = context.store.identity(at: path)
        else { return nil }
        if context.holds(entry, identity) { return entry }
        var entry = entry
        entry.identity = try context.store.find(path, size: entry.size, digest: digest)
        guard entry.identity != nil else { return nil }
        entry.isDurable = context.store.durability == .commit
        context.known.record([entry])
        return entry
    }
}

extension StoreError {
    static let otherContent = StoreError(.contentMismatch, "The upload id was used for other content.")
}
