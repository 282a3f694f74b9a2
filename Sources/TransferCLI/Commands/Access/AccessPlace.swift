internal import TransferAccess
private import TransferCluster
internal import TransferKeys
private import TransferModel
private import TransferPostgres
private import TransferReceipts

/// Whose access lists a command reads or changes.
enum AccessPlace: Sendable {
    /// The lists in a server's directory.
    case directory(String)
    /// The database of a cluster; its address may contain a password.
    case database(String)

    static let flags = [directory.flag, ClusterDatabase.flag.flag]

    private static let directory = ServeFlags.directory("The server's directory.")

    init(_ arguments: ParsedArguments) {
        self = arguments[ClusterDatabase.flag].map { .database($0) } ?? .directory(arguments[Self.directory])
    }

    /// Opens the lists. May wait for the database.
    ///
    /// - Throws: a sentence if the database cannot be used, or if no server of a cluster has used it.
    func open() throws(AccessFault) -> any ManagedAccess {
        switch self {
        case .directory(let path): return AccessFolder(of: path)
        case .database(let address):
            do throws(PostgresError) {
                return ClusterAccess(try ClusterDatabase(address).ledger, interval: 0)
            } catch {
                throw AccessFault(error.message)
            }
        }
    }

    /// The address for a link.
    ///
    /// - Parameter advertised: the value of the command's `--advertise`.
    /// - Throws: a sentence if there is no address that a link can contain.
    func address(advertised: AdvertisedAddress?) throws(AccessFault) -> ServedAddress {
        switch self {
        case .directory(let path): return try ServedAddress(of: path, advertised: advertised)
        case .database:
            guard let advertised else {
                throw AccessFault("Give the address at which clients reach the cluster with --advertise.")
            }
            return try ServedAddress(nil, nil, advertised)
        }
    }

    /// The fingerprint of the key that clients see. Older servers do not record it. The fingerprint of the server's identity is used then,
    /// which is wrong only if the server was given a certificate.
    func key(_ lists: any ManagedAccess) throws(AccessFault) -> KeyFingerprint {
        if let key = try lists.shownKey() { return key }
        guard case .directory(let path) = self else {
            throw AccessFault("No server of the cluster has been started with TLS yet.")
        }
        do throws(KeyPair.Fault) {
            return KeyFingerprint(of: try ServerIdentity.open(in: AccessFolder(of: path).path).identity.key)
        } catch {
            throw AccessFault(error.message)
        }
    }
}
