import TransferCatalog
import TransferIO
import TransferProtocol
import TransferReceipts
import TransferStore

/// What all sessions of a server share.
final class ServerContext: Sendable {
    let configuration: ServerConfiguration
    let store: FileStore
    let log: Log
    let pool: BlockingPool
    let buffers: BufferPool
    let known: KnownUploads
    let assemblies = Assemblies()

    /// Gives receipts to clients that ask; nothing where acknowledgements don't promise enough for that.
    let issuer: ReceiptIssuer?

    /// For connections with TLS; nothing where there is none.
    let tls: TLSContext?

    /// What receipts are verified with.
    var serverKey: [UInt8]? { issuer?.key.raw.bytes }

    /// Bytes read from a socket at once and handed to the pool at once: large enough that the hop costs nothing, small
    /// enough to stay in the cache between receiving and writing.
    static let bufferSize = 256 << 10

    /// Buffers for all sessions together; with 256 KiB each, 16 MiB.
    static let bufferCount = 64

    init(configuration: ServerConfiguration, store: FileStore, log: Log, identity: Identity) {
        self.configuration = configuration
        self.store = store
        self.log = log
        known = KnownUploads(Self.openCatalog(configuration, store, log), log: log)
        issuer = identity.issuer
        tls = identity.tls
        pool = BlockingPool(name: "transfer-disk", threads: configuration.blockingThreads)
        buffers = BufferPool(size: Self.bufferSize, count: Self.bufferCount)
        pool.submit { [known] in known.load() }
    }

    /// A catalog that cannot be used is no reason not to start.
    private static func openCatalog(
        _ configuration: ServerConfiguration, _ store: FileStore, _ log: Log
    ) -> Catalog {
        let path = "\(configuration.directory)/\(RelativePath.reservedName)/\(Catalog.fileName)"
        return Catalog(path: path, isDurable: store.durability == .commit) { damage in
            log.write([.catalogDamaged(damage)])
        }
    }

    /// Says what the catalog knows, or why it cannot be used.
    func logCatalog() {
        do throws(CatalogError) {
            let uploads = try known.count()
            if uploads > 0 { log.write([.catalogOpened(uploads: uploads)]) }
        } catch {
            log.write([.catalogFailed(error, unrecorded: 0)])
        }
    }
}
