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
    let recent = RecentResults()
    let assemblies = Assemblies()

    /// Gives receipts to clients that ask; nothing where acknowledgements don't promise enough for that.
    let issuer: ReceiptIssuer?

    /// What receipts are verified with.
    var serverKey: [UInt8]? { issuer?.key.raw.bytes }

    /// Bytes read from a socket at once and handed to the pool at once: large enough that the hop costs nothing, small
    /// enough to stay in the cache between receiving and writing.
    static let bufferSize = 256 << 10

    /// Buffers for all sessions together; with 256 KiB each, 16 MiB.
    static let bufferCount = 64

    init(configuration: ServerConfiguration, store: FileStore, log: Log, issuer: ReceiptIssuer?) {
        self.configuration = configuration
        self.store = store
        self.log = log
        self.issuer = issuer
        pool = BlockingPool(name: "transfer-disk", threads: configuration.blockingThreads)
        buffers = BufferPool(size: Self.bufferSize, count: Self.bufferCount)
    }
}
