private import Glibc
internal import TransferServer

/// The flags of `transfer serve` for a server of a cluster.
enum ClusterFlags {
    static let all = [store.flag, database.flag, folder.flag, identity.flag] + ClusterPlaceFlags.engine

    private static let store = ClusterPlaceFlags.store(
        "Store in a bucket instead of a directory: s3://BUCKET[/PREFIX].",
        "Any number of servers with the same --store, --catalog and --identity are one service, at any of "
            + "which clients push, continue and fetch. Region, address and keys come from the variables and "
            + "files of AWS's tools. See docs/guide/cluster.md.")

    private static let database = ClusterPlaceFlags.database(
        "The PostgreSQL database of --store: postgres://USER@HOST/DATABASE.",
        "Better set as a variable or in the configuration file if it has a password, because other users see "
            + "the arguments of processes. Several hosts may be listed; the one that accepts changes is used.")

    private static let folder = Flag(
        name: "scratch", placeholder: "DIR", help: "This server's folder on its machine, with --store.",
        details:
            "For content that is not in the bucket yet, up to 16 MiB of each upload, and for the socket of 'transfer "
            + "status --dir DIR'. Nothing that was acknowledged is in it. By default, /var/tmp/transfer-UID.",
        value: .folder
    ).text

    private static let identity = Flag(
        name: "identity", placeholder: "FILE", help: "The key by which clients know the cluster, with --store.",
        details: "The first server makes it. Give every server a copy.", value: .file
    ).text

    /// The path of the folder, which takes the place of the server's directory; nil without `--store`.
    static func folder(_ arguments: ParsedArguments) -> String? {
        guard arguments.isSet(store.flag) else { return nil }
        return arguments[folder] ?? "/var/tmp/transfer-\(geteuid())"
    }

    /// The bucket and the database; nil without `--store`.
    ///
    /// - Throws: `UsageError` if flags are missing, wrong, or not for a cluster.
    static func options(_ arguments: ParsedArguments) throws(UsageError) -> ClusterOptions? {
        guard arguments.isSet(store) else {
            if let other = all.first(where: arguments.isSet) {
                throw arguments.error("'\(other.spelling)' needs --store")
            }
            return nil
        }
        guard arguments.isSet(database) else { throw arguments.error("--store needs --catalog") }
        guard let identity = arguments[identity] else {
            throw arguments.error(
                "--store needs --identity: a file that all servers of the cluster have, made by the first one")
        }
        for flag in [ServeStorageFlags.waitsForLock.flag, ServeStorageFlags.state.flag, ServeFlags.minimumFree.flag]
        where arguments.isSet(flag) {
            throw arguments.error("'\(flag.spelling)' is for a directory; drop it or --store")
        }
        return try ClusterPlaceFlags.address(arguments).map { ClusterOptions($0, identity: identity) }
    }
}
