import Synchronization
import TransferCodec
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferSystem

/// What all connections share: threads, buffers, limits, and the decision which clients may connect.
final class Transport: Sendable {
    /// For work on content and on the catalog; `accounts` distributes its threads among clients.
    let pool: BlockingPool

    /// For the decision which clients may connect; its jobs never wait for content. `HashingQueue` blocks at most 26 threads, so known
    /// clients always find a free one.
    let accessPool = BlockingPool(name: "transfer-access", threads: 32)

    let accounts = ClientAccounts()
    let buffers: BufferPool
    let chunks: BufferPool

    /// Compressors for answers. They are used on threads of `pool`, so there are never more in use than threads.
    let compressors = CompressorPool()

    /// Bytes of answers that clients have not taken yet, over all connections.
    let unsent = Atomic(0)

    /// Whether the server is about to stop. It still serves, so that balancers have time to send new connections elsewhere.
    let isLeaving = Atomic(false)

    /// The limits for connections. The server uses them when connections begin and end; sessions use them from any loop.
    let limits: Locked<ConnectionLimits>

    let security: Locked<TLSContext?>

    let currentSettings: Locked<ServerSettings>

    /// Called when a multipart upload ends on a server that is stopping.
    let whenMultipartEnds = Locked<(@Sendable () -> Void)?>(nil)

    /// Nil if every client may connect.
    let gate: AccessGate?

    /// The secret that separates the uploads of different clients.
    let uploadSecret: Bytes32

    /// Program and version of the server.
    let agent: String

    /// Most threads that may read the received content of an upload again while no other client waits.
    let digestThreads: Int

    /// Bytes that are received at once and handed to the pool at once. Large enough that the hop to the pool costs little, small enough to
    /// stay in the cache between receiving and writing.
    static let bufferSize = 256 << 10

    /// Number of buffers for all sessions together; with 256 KiB each, 16 MiB.
    static let bufferCount = 64

    /// Bytes of content in one chunk of answers. Large enough that the hop to the pool and back costs little.
    static let chunkSize = 512 << 10

    /// `ahead`: bytes of answers waiting for one client above which no more are made (a chunk, and the rest of the one before). `chunk`:
    /// bytes of content in one chunk. With half of these sizes, sending costs 10 % more. Both are smaller while too many bytes wait for all
    /// clients together.
    var answerRoom: (ahead: Int, chunk: Int) {
        isCrowded ? (1, 32 << 10) : (3 * Self.chunkSize / 2, Self.chunkSize)
    }

    /// Number of chunks whose memory is kept for reuse after they are sent; with 516 KiB each, 4 MiB. Further chunks allocate their own
    /// memory.
    private static let chunkCount = 8

    static let unsentLimit = 64 << 20

    /// - Parameter threads: number of threads of `pool`.
    init(_ configuration: ServerConfiguration, _ identity: Identity, _ gate: AccessGate?, threads: Int) {
        security = Locked(identity.tls)
        currentSettings = Locked(ServerSettings(configuration))
        uploadSecret = identity.secret
        self.gate = gate
        (agent, digestThreads) = (configuration.agent, configuration.digestThreads)
        pool = BlockingPool(name: "transfer-disk", threads: threads)
        buffers = BufferPool(size: Self.bufferSize, count: Self.bufferCount)
        chunks = BufferPool(size: Self.chunkSize + 4096, count: Self.chunkCount)
        limits = Locked(
            ConnectionLimits(
                .init(
                    connections: configuration.maximumConnections, perNetwork: configuration.maximumPerNetwork,
                    pending: configuration.maximumPending)))
    }

    /// The TLS context of new connections; nil without TLS.
    var tls: TLSContext? { security.withLock { $0 } }

    /// The current values of the settings that can change while the server runs.
    var settings: ServerSettings { currentSettings.withLock { $0 } }

    /// Whether so many bytes of answers wait, for all clients together, that the server stops reading from every client that has not taken
    /// its answers. Each connection may hold 256 KiB, and thousands of clients that do not read would hold gigabytes.
    var isCrowded: Bool { unsent.load(ordering: .relaxed) >= Self.unsentLimit }

    func multipartEnded(of intake: Intake) {
        guard intake.isStopping.load(ordering: .relaxed) else { return }
        whenMultipartEnds.withLock { $0 }?()
    }
}
