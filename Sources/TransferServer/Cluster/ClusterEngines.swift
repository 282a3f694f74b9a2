package import TransferCluster
import TransferModel
package import TransferObjects
import TransferPorts
import TransferPostgres

/// Where a cluster stores, and how its engines are reached.
package struct ClusterAddress: Sendable {
    /// The bucket, and the prefix of all keys in it.
    package var bucket: S3Address

    /// Where the keys for the bucket come from.
    package var credentials: CredentialSource

    /// File with the only certificates that the object store may have; nil for the system's.
    package var authorities: String?

    /// URI of the database, which may contain a password.
    package var database: String

    package init(bucket: S3Address, credentials: CredentialSource, authorities: String?, database: String) {
        (self.bucket, self.credentials) = (bucket, credentials)
        (self.authorities, self.database) = (authorities, database)
    }

    /// - Returns: the bucket, which was not asked for anything yet.
    func openBucket() throws(ObjectError) -> S3Bucket {
        var setup = S3Bucket.Setup(credentials: credentials)
        setup.authorities = authorities
        return try S3Bucket(bucket, setup)
    }
}

/// The bucket and the database of a cluster, for commands that read all content or make the database again. They store no object, so the
/// engines are not examined.
package struct ClusterEngines: Sendable {
    package let bucket: S3Bucket
    package let ledger: PostgresLedger

    /// Nanoseconds that an engine may take to answer at first.
    private static let patience: Int64 = 20_000_000_000

    /// Opens the engines of a cluster, whose servers may be running. Blocks.
    ///
    /// - Throws: `ServerError` if an engine cannot be reached, or if the two do not belong to one cluster.
    package static func ofCluster(_ address: ClusterAddress) throws(ServerError) -> ClusterEngines {
        let (bucket, cluster) = try marked(address)
        let pool = try examined(address)
        let contents = try explained { () throws(PostgresError) in
            try PostgresLedger.schema.contents(pool, within: patience)
        }
        guard let contents else {
            throw ServerError("No server of a cluster has used this database. Correct --catalog.")
        }
        try require(cluster, contents.cluster)
        return ClusterEngines(bucket: bucket, ledger: PostgresLedger(pool))
    }

    /// Opens the bucket of a cluster whose database was lost, and makes the tables of the new one. Blocks.
    ///
    /// - Throws: `ServerError` also if the bucket is that of no cluster, or if servers use the database.
    package static func forRebuild(_ address: ClusterAddress) throws(ServerError) -> ClusterEngines {
        let (bucket, cluster) = try marked(address)
        let pool = try examined(address)
        try explained { () throws(PostgresError) in
            guard let found = try PostgresLedger.schema.contents(pool, within: patience) else { return }
            guard found.cluster != cluster else { return }
            throw foreign(cluster, found.cluster)
        }
        _ = try explained { () throws(PostgresError) in
            try PostgresLedger.schema.prepare(pool, cluster: .restored(cluster), within: patience)
        }
        let ledger = PostgresLedger(pool)
        let servers = try explained { () throws(LedgerError) in try ledger.overview().servers }
        guard servers.isEmpty else {
            let names = Set(servers.map(\.name)).sorted().map(\.escapedForDisplay).joined(separator: ", ")
            throw ServerError("Servers use the database: \(names). Stop them first.")
        }
        return ClusterEngines(bucket: bucket, ledger: ledger)
    }

    // MARK: Opening

    private static func marked(_ address: ClusterAddress) throws(ServerError) -> (S3Bucket, PostgresClusterID) {
        let bucket = try explained { () throws(ObjectError) in try address.openBucket() }
        let patient = bucket.within(Interval(nanoseconds: patience))
        guard let cluster = try explained({ () throws(ObjectError) in try ClusterMark(patient).read() }) else {
            throw ServerError(
                "The bucket \(bucket.address) has no object '\(ClusterMark.name)', so no cluster has stored in it. Correct --store; if it "
                    + "is the right one, restore that object.")
        }
        return (bucket, cluster)
    }

    private static func examined(_ address: ClusterAddress) throws(ServerError) -> PostgresPool {
        try explained { () throws(PostgresError) in
            let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(address.database)))
            _ = try pool.examine(within: patience)
            return pool
        }
    }

    private static func require(_ bucket: PostgresClusterID, _ database: PostgresClusterID) throws(ServerError) {
        if bucket != database { throw ServerError(foreign(bucket, database).message) }
    }

    private static func foreign(_ bucket: PostgresClusterID, _ database: PostgresClusterID) -> PostgresError {
        PostgresError(
            .foreignCluster,
            "The database belongs to the cluster \(database), and the bucket to \(bucket). Correct one of the addresses."
        )
    }
}

// MARK: - Reasons

/// Makes the reason that any part of a cluster gives the reason why the server or the command does not start.
func explained<Value>(_ body: () throws(Failure) -> Value) throws(ServerError) -> Value {
    do throws(Failure) { return try body() } catch { throw ServerError(error.message) }
}

func explained<Value>(_ body: () throws(PostgresError) -> Value) throws(ServerError) -> Value {
    do throws(PostgresError) { return try body() } catch { throw ServerError(error.message) }
}

func explained<Value>(_ body: () throws(ObjectError) -> Value) throws(ServerError) -> Value {
    do throws(ObjectError) { return try body() } catch { throw ServerError(error.message) }
}

func explained<Value>(_ body: () throws(LedgerError) -> Value) throws(ServerError) -> Value {
    do throws(LedgerError) { return try body() } catch { throw ServerError(error.message) }
}
