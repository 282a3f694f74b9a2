import TransferCluster
import TransferClusterModel
import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// One server of a cluster under test, with its records of uploads.
struct Node {
    let store: ClusterStore
    let records: ClusterRecords
    let medium: ClusterMedium

    /// - Parameter fault: what goes wrong in the server's calls of the database.
    init(
        _ medium: ClusterMedium, fault: @escaping @Sendable (ModelLedger.Call) -> ModelLedger.Fault? = { _ in nil }
    ) throws {
        self.medium = medium
        store = try medium.store(fault: fault)
        records = ClusterRecords(medium.ledger(fault: fault))
    }

    /// An upload that is ready to be published.
    func publication(
        _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, id: UploadID = .random()
    ) throws -> Publication {
        let size = UInt64(content.count)
        let staged = try store.stage(id: id, size: size, filled: nil, permissions: nil, quota: nil)
        try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        return Publication(
            staged: staged, id: id, path: try RelativePath(path), size: size, digest: Self.digest(of: content),
            conflict: conflict)
    }

    /// Publishes a batch, and returns it with its open transaction.
    func begin(
        _ batch: [Publication], seen: (any SeenPaths)? = nil
    ) -> (published: PublishedBatch, entries: [CatalogEntry]) {
        let published = store.publish(batch, seen: seen, acknowledged: { _, _ in nil }, mayReplace: nil)
        let entries = zip(batch, published.outcomes).compactMap { publication, outcome -> CatalogEntry? in
            guard let (path, version, state) = try? outcome.get().stored else { return nil }
            return CatalogEntry(
                id: publication.id, state: state, path: path.string, size: publication.size,
                digest: publication.digest, isDurable: true, begun: 1, committed: 2, version: version)
        }
        return (published, entries)
    }

    /// Publishes and records a batch.
    @discardableResult
    func publish(_ batch: [Publication]) throws -> [Result<PublicationOutcome, Failure>] {
        let (published, entries) = begin(batch)
        try published.settlement?.commit(entries, with: nil)
        return published.outcomes
    }

    /// Publishes one file.
    ///
    /// - Returns: the path that it got.
    @discardableResult
    func put(
        _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, id: UploadID = .random()
    ) throws -> String? {
        let outcome = try publish([publication(path, content, conflict, id: id)])[0].get()
        return outcome.stored?.0.string
    }

    func content(_ path: String) throws -> [UInt8]? { medium.content(try RelativePath(path)) }

    static func digest(of content: [UInt8]) -> Digest {
        content.span.bytes.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
    }
}

extension PublicationOutcome {
    /// The path and version of the stored file, and the entry's state; nil if nothing is stored.
    var stored: (RelativePath, ContentVersion?, CatalogEntry.State)? {
        switch self {
        case .committed(let path, let version), .restored(let path, let version), .healed(let path, let version):
            (path, version, .committed)
        case .alreadyStored(let path, let version): (path, version, .alreadyStored)
        case .skipped: nil
        }
    }
}
