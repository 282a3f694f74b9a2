private import Glibc
private import TransferModel
private import TransferObjects
internal import TransferServer

/// The flags of `transfer serve` for a server of a cluster.
enum ClusterFlags {
    static let all = [
        store.flag, database.flag, folder.flag, identity.flag, endpoint.flag, region.flag, style.flag, authorities.flag,
    ]

    private static let store = Flag(
        name: "store", placeholder: "URL", help: "Store in a bucket instead of a directory: s3://BUCKET[/PREFIX].",
        details:
            "Any number of servers with the same --store, --catalog and --identity are one service, at any of "
            + "which clients push, continue and fetch. Region, address and keys come from the variables and "
            + "files of AWS's tools. See docs/guide/cluster.md."
    ).text

    static let database = Flag(
        name: "catalog", placeholder: "URL",
        help: "The PostgreSQL database of --store: postgres://USER@HOST/DATABASE.",
        details:
            "Better set as a variable or in the configuration file if it has a password, because other users see "
            + "the arguments of processes. Several hosts may be listed; the one that accepts changes is used."
    ).text

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

    private static let endpoint = Flag(
        name: "store-endpoint", placeholder: "URL", help: "The address of an object store that is not AWS.",
        details: "For example https://s3.example.org:9000. By default, AWS_ENDPOINT_URL."
    ).text

    private static let region = Flag(
        name: "store-region", placeholder: "REGION", help: "The region of the bucket.",
        details: "By default, AWS_REGION."
    ).text

    private static let style = Flag(
        name: "store-style", placeholder: "STYLE", help: "Whether requests name the bucket in the path or in the host.",
        details: "By default host for AWS, and path for others."
    ).choice(of: S3Address.Style.self)

    private static let authorities = Flag(
        name: "store-ca", placeholder: "FILE", help: "Trust only the certificates in FILE for the object store.",
        details: "In PEM. By default, those of the system.", value: .file
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
        guard let store = arguments[store] else {
            if let other = all.first(where: arguments.isSet) {
                throw arguments.error("'\(other.spelling)' needs --store")
            }
            return nil
        }
        guard let database = arguments[database] else { throw arguments.error("--store needs --catalog") }
        guard let identity = arguments[identity] else {
            throw arguments.error(
                "--store needs --identity: a file that all servers of the cluster have, made by the first one")
        }
        for flag in [ServeStorageFlags.waitsForLock.flag, ServeStorageFlags.state.flag, ServeFlags.minimumFree.flag]
        where arguments.isSet(flag) {
            throw arguments.error("'\(flag.spelling)' is for a directory; drop it or --store")
        }
        let environment = S3Address.variables.reduce(into: [:]) { $0[$1] = Environment.value(of: $1) }
        do throws(ObjectError) {
            let bucket = try S3Address(
                store,
                S3Address.Options(
                    endpoint: arguments[endpoint], region: arguments[region], style: arguments[style]),
                environment: environment)
            var options = ClusterOptions(
                bucket: bucket, credentials: try CredentialSource.chosen(environment, region: bucket.region),
                database: database, identity: identity)
            options.authorities = arguments[authorities]
            return options
        } catch {
            throw UsageError(error.message)
        }
    }
}

extension S3Address.Style: FlagChoice {
    var flagValue: String { rawValue }
}
