import Synchronization
import TransferAccess
import TransferCatalog
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferReceipts
import TransferStore
import TransferSystem

/// What all sessions of a server share.
final class ServerContext: Sendable {
    let configuration: ServerConfiguration
    let store: FileStore
    let log: Log
    /// For content and the catalog; its threads are shared by `accounts`.
    let pool: BlockingPool
    /// For deciding who may come in, which waits for nobody's content.
    let accessPool = BlockingPool(name: "transfer-access", threads: 4)
    let accounts = ClientAccounts()
    let buffers: BufferPool
    let chunks: BufferPool
    /// Takes uploads in and acknowledges them.
    let intake: Intake

    /// Bytes that wait for clients to take them, over all connections.
    let unsent = Atomic(0)

    /// Whether so much waits that nobody is read whose own results wait. Each connection may hold 256 KiB, and thousands
    /// that don't read would hold gigabytes.
    var isCrowded: Bool { unsent.load(ordering: .relaxed) >= Self.unsentLimit }

    private static let unsentLimit = 64 << 20

    /// Asked by the server when somebody comes and goes, and told by sessions on any loop.
    let admission: Locked<Admission>

    /// For connections with TLS; nothing where there is none.
    var tls: TLSContext? { security.withLock { $0 } }

    let security: Locked<TLSContext?>

    /// What can change while the server runs.
    var settings: ServerSettings { currentSettings.withLock { $0 } }

    let currentSettings: Locked<ServerSettings>

    /// Those that are served.
    let connections = ConnectionList()

    /// What is known of stored uploads, for whoever asks for the status.
    let figures: StoreFigures

    /// Where the server listens, when it does.
    let endpoints = Locked([String]())

    let started = UTCTime.now

    let crashReports: CrashReports

    /// Reports that there were at the start: nobody writes more while this server runs.
    let crashes: [CrashReports.Entry]

    /// Called when an upload in parts is over on a server that has to go.
    let whenAssemblyEnds = Locked<(@Sendable () -> Void)?>(nil)

    /// Decides who may come in; nothing where that cannot be known.
    let authenticator: Authenticator?

    /// What keeps the uploads of clients apart.
    let uploadSecret: Bytes32

    /// Bytes read from a socket at once and handed to the pool at once: large enough that the hop costs nothing, small
    /// enough to stay in the cache between receiving and writing.
    static let bufferSize = 256 << 10

    /// Buffers for all sessions together; with 256 KiB each, 16 MiB.
    static let bufferCount = 64

    /// Bytes of content in one chunk of answers: so many that the hop to the pool and back costs little.
    static let chunkSize = 512 << 10

    /// Chunks whose memory is kept when they have left; with 516 KiB each, 4 MiB. Others take memory of their own.
    private static let chunkCount = 8

    init(
        configuration: ServerConfiguration, store: FileStore, log: Log, identity: Identity,
        on foundations: ServerFoundations = ServerFoundations()
    ) {
        self.configuration = configuration
        crashReports = CrashReports(of: configuration.directory)
        crashes = crashReports.all
        self.store = store
        self.log = log
        let intake = Intake(
            Intake.Configuration(configuration), store: store,
            records: Self.openCatalog(configuration, store, log, on: foundations), signer: identity.signer
        ) { event in log.write([LogEvent(event)]) }
        self.intake = intake
        security = Locked(identity.tls)
        currentSettings = Locked(ServerSettings(configuration))
        figures = StoreFigures {
            StoreFigures.Figures(catalog: intake.known.totals(), unfinished: try? store.unfinished())
        }
        uploadSecret = identity.secret
        authenticator = configuration.authenticator
        pool = BlockingPool(name: "transfer-disk", threads: configuration.blockingThreads)
        buffers = BufferPool(size: Self.bufferSize, count: Self.bufferCount)
        chunks = BufferPool(size: Self.chunkSize + 4096, count: Self.chunkCount)
        admission = Locked(
            Admission(
                .init(
                    connections: configuration.maximumConnections, perNetwork: configuration.maximumPerNetwork,
                    pending: configuration.maximumPending)))
        pool.submit {
            intake.known.load()
            intake.forgetUnfinished()
        }
    }

    func assemblyEnded() {
        guard intake.isStopping.load(ordering: .relaxed) else { return }
        whenAssemblyEnds.withLock { $0 }?()
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

    /// Says what the catalog knows, or why it cannot be used.
    func logCatalog() {
        do throws(CatalogError) {
            let uploads = try intake.known.count()
            if uploads > 0 { log.write([.catalogOpened(uploads: uploads)]) }
        } catch {
            log.write([.catalogFailed(error, unrecorded: 0)])
        }
    }
}

extension Intake.Configuration {
    fileprivate init(_ configuration: ServerConfiguration) {
        self.init(
            maximumAssemblies: configuration.maximumAssemblies, filesAtOnce: configuration.filesAtOnce,
            maximumUpload: configuration.maximumUpload)
    }
}
