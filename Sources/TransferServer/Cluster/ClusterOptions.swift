package import TransferObjects

/// Where the servers of a cluster store, and how this one reaches it.
package struct ClusterOptions: Sendable {
    /// The bucket, and the prefix of all keys in it.
    package var bucket: S3Address

    /// Where the keys for the bucket come from.
    package var credentials: CredentialSource

    /// File with the only certificates that the object store may have; nil for the system's.
    package var authorities: String?

    /// URI of the database, which may contain a password.
    package var database: String

    /// File with the key by which clients know the cluster; each server has the same one. It is made if no server of the cluster has
    /// started yet.
    package var identity: String

    package init(bucket: S3Address, credentials: CredentialSource, database: String, identity: String) {
        (self.bucket, self.credentials) = (bucket, credentials)
        (self.database, self.identity) = (database, identity)
    }
}
