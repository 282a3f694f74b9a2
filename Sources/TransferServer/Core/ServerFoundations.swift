import TransferAccess
import TransferCatalog
import TransferLedger
import TransferModel
import TransferPorts
import TransferStore

/// A store, with the folders of this machine in which it and its server keep what is theirs.
struct OpenedStore: Sendable {
    let store: any ServerStore

    /// Descriptors, the store's, open for as long as it is.
    struct Folders: Sendable {
        /// The directory that the process may touch when it is confined.
        let directory: Int32

        /// The server's own folder.
        let own: Int32
    }

    let folders: Folders

    /// Whether no other machine has taken the store from this one; throws where that cannot be said now. Nil where none can take it.
    var isHeld: (@Sendable () throws -> Bool)?

    init(_ store: any ServerStore, _ folders: Folders) { (self.store, self.folders) = (store, folders) }

    init(_ store: FileStore, mayBeTaken: Bool = false) {
        self.init(store, Folders(directory: store.directory, own: store.ownFolder))
        if mayBeTaken { isHeld = { try store.isHeld() } }
    }
}

/// Opens what a server stands on. Tests put others in their place.
struct ServerFoundations: Sendable {
    var frontEnds = FrontEnds(BinaryFrontEnd())

    /// What is answered over HTTP.
    var router = HTTPRouter.standard

    /// What may be spoken where a server listens.
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

    /// Is given the path of the database, whether it has to survive a crash of the machine, and who is told of damage.
    var openCatalog: @Sendable (String, Bool, @escaping @Sendable (RecordsDamage) -> Void) -> any UploadRecords = {
        path, isDurable, report in Catalog(path: path, isDurable: isDurable, report: report)
    }

    /// Is given the path of the ledger of mailboxes, whether it has to survive a crash of the machine, and whether there is content
    /// that only it knows the recipients of.
    var openMail: @Sendable (String, Bool, Bool) throws(RecordsError) -> any MailRecords = {
        (path, isDurable, mustExist) throws(RecordsError) in
        try MailLedger(path: path, isDurable: isDurable, mustExist: mustExist)
    }

    /// Opens the lists of keys and tokens. Clients of a list that cannot be read are refused, and the list tells its faults when it is asked.
    var openAccess: @Sendable (ServerConfiguration) -> any AccessLists = { AccessFolder(of: $0.directory) }
}

extension StateFolder {
    /// The database with what was acknowledged.
    var catalogPath: String { "\(path)/\(Catalog.fileName)" }

    /// The database with what waits in mailboxes.
    var mailPath: String { "\(path)/\(MailLedger.fileName)" }

    /// Names of what moves between a server's own folder and another one, without what SQLite has beside them.
    static let records = [Catalog.fileName, MailLedger.fileName]
}

extension LogEvent {
    /// What the database with what waits in mailboxes is called in the server's own folder.
    static var mailFileName: String { MailLedger.fileName }
}
