import TransferCatalog
import TransferClassic
import TransferDatabase
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferStore
import TransferSystem

/// What a server is made of. Its sessions get what they need of it: the intake, the transport, and what is observed.
final class ServerCore: Sendable {
    let configuration: ServerConfiguration
    /// For what expires in the directory.
    let directoryClock = Locked(DirectoryClock())
    let store: FileStore

    /// Whether what is removed and replaced goes to the trash.
    let trashes: Bool

    /// Why the catalog could not be opened; nil when it could.
    private let catalogFault: DatabaseError?

    /// Takes uploads in and acknowledges them.
    let intake: Intake

    let transport: Transport
    let observability: Observability

    /// What may be spoken with clients.
    let frontEnds: FrontEnds

    /// Nothing for a server without TLS, or with a certificate of others.
    let ownTLS: OwnTLS?

    /// What requests over HTTP are judged by.
    let ways: HTTPWays

    /// What connections share on which HTTP is spoken.
    let http: HTTPShared

    /// Clients that have names and cannot prove them.
    let chatNames = ChatNames()

    init(
        configuration: ServerConfiguration, store: FileStore, log: Log, identity: Identity,
        on foundations: ServerFoundations = ServerFoundations()
    ) {
        (self.configuration, self.store) = (configuration, store)
        trashes = TrashSetting.decide(configuration.trash, isNew: store.isNew, in: configuration.ownFolder)
        frontEnds = foundations.frontEnds(configuration.http)
        let metrics = ServerMetrics()
        let gate = configuration.authenticator.map { AccessGate($0, log: log, metrics.refusedAuthentications) }
        let catalog = Self.openCatalog(configuration, store, log, on: foundations)
        catalogFault = catalog.fault
        let intake = Intake(
            Intake.Configuration(configuration), store: store, records: catalog, signer: identity.signer,
            mailroom: Self.openMailroom(configuration, store, log, gate, on: foundations),
            mark: DirectoryMark(in: configuration.ownFolder, catalog: configuration.catalogPath)
        ) { event in log.write([LogEvent(event)]) }
        self.intake = intake
        intake.giveWay(in: store)
        let transport = Transport(configuration, identity, gate)
        self.transport = transport
        ownTLS = identity.ownTLS
        ways = HTTPWays(configuration) { transport.tls?.covers($0) ?? false }
        let figures = StoreFigures {
            StoreFigures.Figures(catalog: intake.known.totals(), unfinished: try? store.unfinished())
        }
        observability = Observability(of: configuration.directory, log: log, figures, metrics)
        http = HTTPShared(observability.connections)
        transport.pool.submit {
            intake.known.load()
            intake.forgetUnfinished()
        }
    }

    /// A catalog that cannot be used is no reason not to start.
    private static func openCatalog(
        _ configuration: ServerConfiguration, _ store: FileStore, _ log: Log, on foundations: ServerFoundations
    ) -> Catalog {
        foundations.openCatalog(configuration.catalogPath, store.durability == .commit) { damage in
            log.write([.catalogDamaged(damage)])
        }
    }

    /// Mailboxes that cannot be used are no reason not to start: everything else works.
    private static func openMailroom(
        _ configuration: ServerConfiguration, _ store: FileStore, _ log: Log, _ gate: AccessGate?,
        on foundations: ServerFoundations
    ) -> Mailroom? {
        var people: any MailPeople = Nobody()
        if let gate, !configuration.isOpen { people = gate }
        guard configuration.keepsMail && !configuration.isOpen || configuration.hasChat else { return nil }
        let path = "\(configuration.directory)/\(RelativePath.reservedName)/\(MailLedger.fileName)"
        let opened = Result { () throws(DatabaseError) in
            try foundations.openMail(path, store.durability == .commit, !store.mailFiles().isEmpty)
        }
        if case .failure(let error) = opened { log.write([.mailFailed(error)]) }
        let mailroom = Mailroom(opened, people, MailLimits(bytes: configuration.mailboxQuota))
        gate?.reserve { [weak mailroom] name in mailroom?.isKnown(name) ?? false }
        return mailroom
    }

    /// What a newer program has acknowledged is not for this one to acknowledge, count, or forget.
    ///
    /// - Throws: `ServerError` where the catalog is of a newer program.
    func checkCatalog() throws(ServerError) {
        guard let catalogFault, catalogFault.reason == .unknownVersion else { return }
        throw ServerError(catalogFault.message)
    }

    /// Those who speak to one another over this server have nothing else here.
    ///
    /// - Throws: `ServerError` where there are no mailboxes for them.
    func checkChat() throws(ServerError) {
        guard configuration.hasChat, let mailroom = intake.mailroom else { return }
        do throws(DatabaseError) {
            _ = try mailroom.ledger
        } catch {
            throw ServerError("The mailboxes cannot be opened, which clients of jsonline need: \(error.message)")
        }
    }

    /// Says what the catalog knows, or why it cannot be used.
    func logCatalog() {
        do throws(DatabaseError) {
            let uploads = try intake.known.count()
            if uploads > 0 { observability.log.write([.catalogOpened(uploads: uploads)]) }
        } catch {
            observability.log.write([.catalogFailed(error, unrecorded: 0)])
        }
    }
}

/// Where nobody is in any list.
private struct Nobody: MailPeople {
    var people: [MailPerson] { [] }

    func person(_ name: String) -> MailPerson? { nil }
}

extension ServerConfiguration {
    /// The path of the server's own folder, and of the catalog in it.
    var ownFolder: String { "\(directory)/\(RelativePath.reservedName)" }
    fileprivate var catalogPath: String { Catalog.path(in: directory) }

    /// Whether clients speak to one another, under names that they cannot prove.
    fileprivate var hasChat: Bool { classic.contains(where: \.framing.isChat) }
}

extension Intake.Configuration {
    fileprivate init(_ configuration: ServerConfiguration) {
        self.init(
            maximumMultiparts: configuration.maximumMultiparts, filesAtOnce: configuration.filesAtOnce,
            maximumUpload: configuration.maximumUpload, keepUnfinished: configuration.keepUnfinished.nanoseconds)
    }
}
