import Glibc
import TransferCluster
import TransferIO
import TransferKeys
import TransferModel
import TransferObjects
import TransferPostgres
import TransferPorts
import TransferStore
import TransferSystem

/// Where the servers of a cluster store, and how this one reaches it.
package struct ClusterOptions: Sendable {
    /// The bucket and the database.
    package var address: ClusterAddress

    /// File with the key by which clients know the cluster; each server has the same one. It is made if no server of the cluster has
    /// started yet.
    package var identity: String

    package init(_ address: ClusterAddress, identity: String) {
        (self.address, self.identity) = (address, identity)
    }
}

/// One server of a cluster: its connections with the bucket and the database, and its folder on this machine.
///
/// `init` proves that both engines keep their word and belong to the same cluster. Everything that a server of a directory has in files,
/// and that all servers of a cluster must share, is in the database (`ClusterNotes`).
final class ClusterNode: Sendable {
    let options: ClusterOptions
    let folder: NodeFolder
    let bucket: S3Bucket
    let pool: PostgresPool
    let ledger: PostgresLedger

    /// Hints for the other servers, and from them.
    let news: PostgresNews

    /// The ID of the cluster.
    let cluster: PostgresClusterID

    /// Knows whether the engines answer, for probes.
    let health = ClusterHealth()

    /// Events about the engines, for the log.
    let events: [LogEvent]

    /// The name of this server for operators: several servers may run on one machine.
    static let name = "\(HostName.own ?? "server")/\(getpid())"

    /// Nanoseconds that the engines may take to answer while the server starts. A service manager starts it again.
    private static let patience: Int64 = 20_000_000_000

    /// Nanoseconds that an upgrade of the tables may take.
    private static let upgradePatience: Int64 = 600_000_000_000

    /// Connections with the database. Each call takes one for a round trip, and waits for one if all are in use.
    private static let connectionLimit = 32

    /// Opens the engines and the folder, and prepares an empty bucket and an empty database for a new cluster. Blocks.
    ///
    /// - Parameter path: the folder on this machine.
    /// - Throws: `ServerError` if an engine cannot be reached or does not keep its word, or if the two belong to different clusters.
    init(_ options: ClusterOptions, path: String) throws(ServerError) {
        self.options = options
        folder = try explained { () throws(Failure) in try NodeFolder(path: path) }
        (pool, bucket) = (try Self.pool(options), try Self.bucket(options))
        ledger = PostgresLedger(pool)
        let facts: PostgresServerFacts
        (cluster, facts) = try Self.join(pool, bucket)
        news = try Self.news(pool)
        events =
            [
                .objectStore(bucket.traits.line(bucket.address)),
                .database(pool.configuration.address.description, facts),
            ]
            + pool.takeRemarks().map { .databaseRemark($0.message) }
    }

    private static func pool(_ options: ClusterOptions) throws(ServerError) -> PostgresPool {
        try explained { () throws(PostgresError) in
            let program = PostgresLedger.programPrefix + name
            var configuration = PostgresConfiguration(try PostgresAddress(options.address.database, program: program))
            configuration.connectionLimit = connectionLimit
            return try PostgresPool(configuration)
        }
    }

    private static func news(_ pool: PostgresPool) throws(ServerError) -> PostgresNews {
        try explained { () throws(PostgresError) in try PostgresNews(pool, pool.configuration) }
    }

    private static func bucket(_ options: ClusterOptions) throws(ServerError) -> S3Bucket {
        try explained { () throws(ObjectError) in
            let usual = try options.address.openBucket()
            // The examination has some 20 requests, and the first one that gets no answer ends it.
            let examined = try usual.within(Interval(nanoseconds: patience)).examined()
            return examined.within(usual.budget)
        }
    }

    /// Compares the cluster of the bucket with that of the database, and makes a new cluster of an empty bucket and an empty database.
    private static func join(
        _ pool: PostgresPool, _ bucket: S3Bucket
    ) throws(ServerError) -> (PostgresClusterID, PostgresServerFacts) {
        let mark = ClusterMark(bucket)
        let marked = try explained { () throws(ObjectError) in try mark.read() }
        let (cluster, facts) = try explained { () throws(PostgresError) in
            let facts = try pool.examine(within: patience)
            let expected: PostgresSchema.Cluster = if let marked { .known(marked) } else { .any }
            return (try PostgresLedger.schema.prepare(pool, cluster: expected, within: upgradePatience).cluster, facts)
        }
        let notes = ClusterNotes(PostgresLedger(pool))
        guard try !explained({ () throws(LedgerError) in try notes.isRebuilding() }) else {
            throw ServerError(
                "The database does not have all files of the bucket yet, because a 'transfer catalog rebuild' has not ended. Run it until "
                    + "it ends.")
        }
        if marked == nil {
            // The note is written after the mark, so a cluster without the note has never stored anything.
            if let known = try explained({ () throws(LedgerError) in try notes.read(.bucket) }) {
                throw ServerError(
                    "The bucket \(bucket.address) has no object '\(ClusterMark.name)', and the cluster of the database has stored in "
                        + "\(String(decoding: known, as: UTF8.self).escapedForDisplay). Name that bucket with --store. If it is the "
                        + "same one, its objects were removed: restore them, and that object too.")
            }
            try explained { () throws(ObjectError) in try mark.write(cluster) }
        }
        _ = try explained { () throws(LedgerError) in
            try notes.claim(.bucket, Array(bucket.address.description.utf8))
        }
        return (cluster, facts)
    }

    // MARK: What all servers share

    var notes: ClusterNotes { ClusterNotes(ledger) }

    /// Opens the access lists. Edits through the result are announced to the other servers.
    func access() -> ClusterAccess { ClusterAccess(ledger, news: news) }

    /// Refuses a server that would make another key than the cluster has. To be called before the server's identity is opened.
    func checkIdentity() throws(ServerError) {
        guard Glibc.access(options.identity, F_OK) != 0, let known = try known(.identity) else { return }
        throw ServerError(
            "The file '\(options.identity.escapedForDisplay)' does not exist. Copy it from another server of the cluster, whose "
                + "key is \(KeyFingerprint(of: known)).")
    }

    /// Makes the key of this server that of the cluster, if no server was started before.
    ///
    /// - Throws: `ServerError` if the cluster has another key: clients of the other servers would not trust this one.
    func claim(_ key: PublicKey) throws(ServerError) {
        let claimed = try explained { () throws(LedgerError) in try notes.claim(.identity, key.raw.bytes) }
        guard claimed != key.raw.bytes else { return }
        throw ServerError(
            "'\(options.identity.escapedForDisplay)' contains the key \(KeyFingerprint(of: key)), and clients know this cluster by "
                + "\(KeyFingerprint(of: claimed)). Give every server the same file with --identity.")
    }

    /// Whether removed and replaced files go to the trash.
    ///
    /// - Parameter wanted: the operator's option, which is then the setting of all servers that are started without one.
    func trashes(_ wanted: Bool?) throws(ServerError) -> Bool {
        let (on, off) = (Array("on".utf8), Array("off".utf8))
        if let wanted {
            try explained { () throws(LedgerError) in try notes.write(.trash, wanted ? on : off) }
            return wanted
        }
        return try known(.trash) != off
    }

    private func known(_ name: ClusterNotes.Name) throws(ServerError) -> [UInt8]? {
        try explained { () throws(LedgerError) in try notes.read(name) }
    }
}

extension ServerFoundations {
    /// The foundations of a server of a cluster.
    init(_ node: ClusterNode) {
        openStore = { (configuration) throws(Failure) in
            var settings = ClusterStore.Configuration(server: ClusterNode.name)
            settings.quota = configuration.space.quota
            settings.identity = node.cluster.bytes
            settings.durability = configuration.durability
            let scratch: ScratchSpace
            do throws(SystemError) { scratch = try ScratchSpace(path: configuration.directory) } catch {
                throw Failure(.storageFailed, "Cannot use the folder of --scratch: \(error.reason).")
            }
            var opened = OpenedStore(
                try ClusterStore(node.bucket, node.ledger, scratch: scratch, settings),
                OpenedStore.Folders(directory: node.folder.directory, own: node.folder.ownFolder))
            (opened.node, opened.news) = (node, node.news)
            return opened
        }
        openCatalog = { _, _, _ in ClusterRecords(node.ledger) }
        openMail = { _, _, _ in ClusterMail(node.ledger) }
        openAccess = { _ in node.access() }
    }
}
