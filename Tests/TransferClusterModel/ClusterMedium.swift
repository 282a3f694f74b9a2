package import TransferCluster
import TransferCodec
package import TransferModel
import TransferPorts
import TransferSystem

/// A database and a bucket in memory, which the servers of one cluster share. Each server opens its own store.
package final class ClusterMedium: Sendable {
    package let database: ModelDatabase
    package let bucket = MemoryBucket()
    private let utc: @Sendable () -> Int64

    /// - Parameter utc: the clock of the database and of all servers; UTC, in nanoseconds since 1970.
    package init(utc: @escaping @Sendable () -> Int64 = utcNanoseconds) {
        self.utc = utc
        database = ModelDatabase(clock: utc)
    }

    /// - Parameter fault: what goes wrong in the calls of this server.
    package func ledger(
        fault: @escaping @Sendable (ModelLedger.Call) -> ModelLedger.Fault? = { _ in nil }
    ) -> ModelLedger {
        ModelLedger(database, fault: fault)
    }

    /// Opens a store as another server does.
    ///
    /// - Parameter skew: nanoseconds by which the server's clock is ahead of the database's clock.
    package func store(
        quota: UInt64? = nil, skew: Int64 = 0,
        fault: @escaping @Sendable (ModelLedger.Call) -> ModelLedger.Fault? = { _ in nil }
    ) throws -> ClusterStore {
        var configuration = ClusterStore.Configuration(server: "node")
        (configuration.utc, configuration.quota) = ({ [utc] in utc() + skew }, quota)
        return try ClusterStore(bucket, ledger(fault: fault), scratch: try ScratchSpace(path: nil), configuration)
    }
}

/// What tests do beside the servers under test, by a server of their own.
extension ClusterMedium {
    /// The content of a file; nil if there is no file at the path.
    package func content(_ path: RelativePath) -> [UInt8]? {
        guard let file = try? store().reader().open(path) else { return nil }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(clamping: file.attributes.size), alignment: 16)
        defer { buffer.deallocate() }
        guard let count = try? file.read(into: buffer, at: 0), count == buffer.count else { return nil }
        return Array(buffer)
    }

    /// All paths, including those in the servers' own folder.
    package func paths() -> [String] {
        let rows = database.contents
        return rows.nodes.keys.compactMap { rows.path(of: $0)?.map(\.string).joined(separator: "/") }
    }

    package var folders: Set<String> {
        let rows = database.contents
        return Set(
            rows.nodes.values.filter(\.isFolder).compactMap {
                rows.path(of: $0.number)?.map(\.string).joined(separator: "/")
            })
    }

    /// The IDs of unfinished uploads.
    package var uploads: [UploadID] { Array(database.contents.uploads.keys) }

    /// Removes a file, or a folder with its content.
    package func remove(_ path: RelativePath) throws {
        let removal = try store().remover().begin(path, isRecursive: true, of: nil)
        while try !removal.step(100) {}
    }

    /// Writes a file, also in place of another one.
    package func write(_ content: [UInt8], _ path: RelativePath) throws {
        let store = try store()
        let staged = try store.stage(
            id: .random(), size: UInt64(content.count), filled: nil, permissions: nil, quota: nil)
        try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        let digest = content.span.bytes.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        let publication = Publication(
            staged: staged, id: .random(), path: path, size: UInt64(content.count), digest: digest,
            conflict: .overwrite)
        let published = store.publish([publication], acknowledged: { _, _ in nil }, mayReplace: nil)
        try published.settlement?.commit([], with: nil)
        _ = try published.outcomes[0].get()
    }
}
