import TransferAccess
import TransferCatalog
import TransferGallery
import TransferLedger
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// An open store, and the folders on this machine that the store and its server use for themselves.
struct OpenedStore: Sendable {
    let store: any ServerStore

    /// Descriptors of folders. The store owns them and keeps them open for its lifetime.
    struct Folders: Sendable {
        /// The directory that a confined process may use.
        let directory: Int32

        /// The folder in the directory that the server keeps for itself.
        let own: Int32
    }

    let folders: Folders

    /// The server's part of a cluster; nil for a store on this machine.
    var node: ClusterNode?

    /// Whether this machine still has the store and no other machine has taken it; throws if that cannot be found out now. Nil if no
    /// machine can take it.
    var isHeld: (@Sendable () throws -> Bool)?

    /// What the servers of the store say to each other; nil if one server at a time uses it.
    var news: (any ServerNews)?

    init(_ store: any ServerStore, _ folders: Folders) { (self.store, self.folders) = (store, folders) }

    init(_ store: FileStore, mayBeTaken: Bool = false) {
        self.init(store, Folders(directory: store.directory, own: store.ownFolder))
        if mayBeTaken { isHeld = { try store.isHeld() } }
    }
}

/// Opens the parts that a server is built on. Tests replace them.
struct ServerFoundations: Sendable {
    var frontEnds = FrontEnds(BinaryFrontEnd())

    /// The routes of HTTP requests.
    var router = HTTPRouter.standard

    /// The protocols that the usual listeners speak.
    func frontEnds(_ http: HTTPUse) -> FrontEnds {
        switch http {
        case .off: frontEnds
        case .on: FrontEnds(frontEnds.usual, frontEnds.others + [HTTPFrontEnd()])
        case .only: FrontEnds(HTTPFrontEnd())
        }
    }

    var openStore: @Sendable (ServerConfiguration) throws(Failure) -> OpenedStore = {
        (configuration) throws(Failure) in
        OpenedStore(
            try FileStore(
                path: configuration.directory, durability: configuration.durability, limits: configuration.space,
                lock: configuration.lock),
            mayBeTaken: configuration.lock != nil)
    }

    /// Opens the catalog. The arguments are the path of the database, whether it has to survive a crash of the machine, and a function to
    /// report damage to.
    var openCatalog: @Sendable (String, Bool, @escaping @Sendable (RecordsDamage) -> Void) -> any UploadRecords = {
        path, isDurable, report in Catalog(path: path, isDurable: isDurable, report: report)
    }

    /// Opens the ledger of mailboxes. The arguments are its path, whether it has to survive a crash of the machine, and whether there is
    /// content whose recipients only the ledger knows.
    var openMail: @Sendable (String, Bool, Bool) throws(RecordsError) -> any MailRecords = {
        (path, isDurable, mustExist) throws(RecordsError) in
        try MailLedger(path: path, isDurable: isDurable, mustExist: mustExist)
    }

    /// Starts the helper that decodes pictures. The result is the channel to it.
    var startDecoding: @Sendable () throws(SystemError) -> DescriptorChannel = {
        () throws(SystemError) in try GalleryProcess.startHelper()
    }

    /// Opens the lists of keys and tokens. If a list cannot be read, its clients are refused, and the list reports its faults on request.
    var openAccess: @Sendable (ServerConfiguration) -> any AccessLists = { AccessFolder(of: $0.directory) }
}

extension ServerConfiguration {
    /// The access lists in the server's directory, as operators manage them.
    var ownAccess: any ManagedAccess { AccessFolder(of: directory) }
}

extension StateFolder {
    /// Path of the database of acknowledged uploads.
    var catalogPath: String { "\(path)/\(Catalog.fileName)" }

    /// Path of the database of deliveries that wait in mailboxes.
    var mailPath: String { "\(path)/\(MailLedger.fileName)" }

    /// Names of the databases that an operator moves between the server's own folder and a state folder, without the suffixes of SQLite's
    /// other files.
    static let records = [Catalog.fileName, MailLedger.fileName]
}

extension LogEvent {
    /// Name of the database of mailboxes in the server's own folder.
    static var mailFileName: String { MailLedger.fileName }
}
