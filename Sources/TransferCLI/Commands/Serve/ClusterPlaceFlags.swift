internal import TransferServer
private import TransferModel
private import TransferObjects

/// The flags that name the bucket and the database of a cluster.
enum ClusterPlaceFlags {
    /// The flags of commands that work beside a cluster's servers.
    static let all = [store.flag, database.flag] + engine

    /// How the bucket is reached.
    static let engine = [endpoint.flag, region.flag, style.flag, authorities.flag]

    private static let store = store("The bucket of a cluster: s3://BUCKET[/PREFIX].")

    private static let database = database(
        "The database of a cluster: postgres://USER@HOST/DATABASE.", "The address that its servers have as --catalog.")

    /// - Parameters:
    ///   - help: the sentence of the help, which differs between commands.
    ///   - details: more sentences.
    static func store(_ help: String, _ details: String = "") -> FlagKey<String?, Never> {
        Flag(name: "store", placeholder: "URL", help: help, details: details).text
    }

    /// - Parameters:
    ///   - help: the sentence of the help, which differs between commands.
    ///   - details: more sentences.
    static func database(_ help: String, _ details: String) -> FlagKey<String?, Never> {
        Flag(name: "catalog", placeholder: "URL", help: help, details: details).text
    }

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

    /// The bucket and the database; nil without `--store` and the flags that belong to it.
    ///
    /// - Throws: `UsageError` if flags are missing or wrong.
    static func address(_ arguments: ParsedArguments) throws(UsageError) -> ClusterAddress? {
        guard let store = arguments[store] else {
            if let other = all.first(where: arguments.isSet) {
                throw arguments.error("'\(other.spelling)' needs --store")
            }
            return nil
        }
        guard let database = arguments[database] else { throw arguments.error("--store needs --catalog") }
        let environment = S3Address.variables.reduce(into: [:]) { $0[$1] = Environment.value(of: $1) }
        do throws(ObjectError) {
            let bucket = try S3Address(
                store,
                S3Address.Options(
                    endpoint: arguments[endpoint], region: arguments[region], style: arguments[style]),
                environment: environment)
            return ClusterAddress(
                bucket: bucket, credentials: try CredentialSource.chosen(environment, region: bucket.region),
                authorities: arguments[authorities], database: database)
        } catch {
            throw UsageError(error.message)
        }
    }
}

extension S3Address.Style: FlagChoice {
    var flagValue: String { rawValue }
}
