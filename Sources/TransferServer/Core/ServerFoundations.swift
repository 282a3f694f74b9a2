import TransferCatalog
import TransferDatabase
import TransferMail
import TransferModel
import TransferPorts
import TransferStore

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

    var openStore: @Sendable (ServerConfiguration) throws(Failure) -> FileStore = {
        (configuration) throws(Failure) in
        try FileStore(path: configuration.directory, durability: configuration.durability, limits: configuration.space)
    }

    /// Is given the path of the database, whether it has to survive a crash of the machine, and who is told of damage.
    var openCatalog: @Sendable (String, Bool, @escaping @Sendable (Catalog.Damage) -> Void) -> Catalog = {
        path, isDurable, report in Catalog(path: path, isDurable: isDurable, report: report)
    }

    /// Is given the path of the ledger of mailboxes, whether it has to survive a crash of the machine, and whether there is content
    /// that only it knows the recipients of.
    var openMail: @Sendable (String, Bool, Bool) throws(DatabaseError) -> MailLedger = {
        (path, isDurable, mustExist) throws(DatabaseError) in
        try MailLedger(path: path, isDurable: isDurable, mustExist: mustExist)
    }
}
