import TransferDatabase
import TransferCatalog
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferStore

/// What a server is made of. Its sessions get what they need of it: the intake, the transport, and what is observed.
final class ServerCore: Sendable {
    let configuration: ServerConfiguration
    let store: FileStore

    /// Takes uploads in and acknowledges them.
    let intake: Intake

    let transport: Transport
    let observability: Observability

    /// What may be spoken with clients.
    let frontEnds: FrontEnds

    init(
        configuration: ServerConfiguration, store: FileStore, log: Log, identity: Identity,
        on foundations: ServerFoundations = ServerFoundations()
    ) {
        (self.configuration, self.store) = (configuration, store)
        frontEnds = foundations.frontEnds
        let gate = configuration.authenticator.map { AccessGate($0, log: log) }
        let intake = Intake(
            Intake.Configuration(configuration), store: store,
            records: Self.openCatalog(configuration, store, log, on: foundations), signer: identity.signer,
            mailroom: gate.flatMap { Self.openMailroom(configuration, store, log, $0, on: foundations) }
        ) { event in log.write([LogEvent(event)]) }
        self.intake = intake
        transport = Transport(configuration, identity, gate)
        let figures = StoreFigures {
            StoreFigures.Figures(catalog: intake.known.totals(), unfinished: try? store.unfinished())
        }
        observability = Observability(of: configuration.directory, log: log, figures)
        transport.pool.submit {
            intake.known.load()
            intake.forgetUnfinished()
        }
    }

    /// A catalog that cannot be used is no reason not to start.
    private static func openCatalog(
        _ configuration: ServerConfiguration, _ store: FileStore, _ log: Log, on foundations: ServerFoundations
    ) -> Catalog {
        let path = "\(configuration.directory)/\(RelativePath.reservedName)/\(Catalog.fileName)"
        return foundations.openCatalog(path, store.durability == .commit) { damage in
            log.write([.catalogDamaged(damage)])
        }
    }

    /// Mailboxes that cannot be used are no reason not to start: everything else works.
    private static func openMailroom(
        _ configuration: ServerConfiguration, _ store: FileStore, _ log: Log, _ gate: AccessGate,
        on foundations: ServerFoundations
    ) -> Mailroom? {
        guard configuration.keepsMail, !configuration.isOpen else { return nil }
        let path = "\(configuration.directory)/\(RelativePath.reservedName)/\(MailLedger.fileName)"
        let opened = Result { () throws(DatabaseError) in
            try foundations.openMail(path, store.durability == .commit)
        }
        if case .failure(let error) = opened { log.write([.mailFailed(error)]) }
        return Mailroom(opened, gate, MailLimits(bytes: configuration.mailboxQuota))
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

extension Intake.Configuration {
    fileprivate init(_ configuration: ServerConfiguration) {
        self.init(
            maximumAssemblies: configuration.maximumAssemblies, filesAtOnce: configuration.filesAtOnce,
            maximumUpload: configuration.maximumUpload, keepUnfinished: configuration.keepUnfinished.nanoseconds)
    }
}
