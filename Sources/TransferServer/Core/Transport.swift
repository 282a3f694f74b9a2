import Synchronization
import TransferCodec
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferSystem

/// What connections share to be served: threads, buffers, limits, and who may come in.
final class Transport: Sendable {
    /// For content and the catalog; its threads are shared by `accounts`.
    let pool: BlockingPool

    /// Decides which clients may come in, and never waits for content. `HashingQueue` blocks 26 threads at most, so known clients find a
    /// free thread at all times.
    let accessPool = BlockingPool(name: "transfer-access", threads: 32)

    let accounts = ClientAccounts()
    let buffers: BufferPool
    let chunks: BufferPool

    /// What answers are compressed with; on threads of `pool`, so never more than those are at work.
    let compressors = CompressorPool()

    /// Bytes that wait for clients to take them, over all connections.
    let unsent = Atomic(0)

    /// Asked by the server when somebody comes and goes, and told by sessions on any loop.
    let limits: Locked<ConnectionLimits>

    let security: Locked<TLSContext?>

    let currentSettings: Locked<ServerSettings>

    /// Called when an upload in parts is over on a server that has to go.
    let whenMultipartEnds = Locked<(@Sendable () -> Void)?>(nil)

    /// Nothing where everybody may come in.
    let gate: AccessGate?

    /// What keeps the uploads of clients apart.
    let uploadSecret: Bytes32

    /// What the server calls itself.
    let agent: String

    /// Threads that may read what an upload has already, where nobody else waits.
    let digestThreads: Int

    /// Bytes read from a socket at once and handed to the pool at once: large enough that the hop costs nothing, small
    /// enough to stay in the cache between receiving and writing.
    static let bufferSize = 256 << 10

    /// Buffers for all sessions together; with 256 KiB each, 16 MiB.
    static let bufferCount = 64

    /// Bytes of content in one chunk of answers: so many that the hop to the pool and back costs little.
    static let chunkSize = 512 << 10

    /// Bytes of answers that may wait for one client before more are made, a chunk and what is left of the one before it, and bytes of
    /// content in one chunk: half of the usual size costs a tenth more. Less of both where too much waits for all clients together.
    var answerRoom: (ahead: Int, chunk: Int) {
        isCrowded ? (1, 32 << 10) : (3 * Self.chunkSize / 2, Self.chunkSize)
    }

    /// Chunks whose memory is kept when they have left; with 516 KiB each, 4 MiB. Others take memory of their own.
    private static let chunkCount = 8

    static let unsentLimit = 64 << 20

    /// - Parameter threads: of the pool for work that blocks.
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

    /// For connections with TLS; nothing where there is none.
    var tls: TLSContext? { security.withLock { $0 } }

    /// What can change while the server runs.
    var settings: ServerSettings { currentSettings.withLock { $0 } }

    /// Whether so much waits that nobody is read whose own results wait. Each connection may hold 256 KiB, and thousands
    /// that don't read would hold gigabytes.
    var isCrowded: Bool { unsent.load(ordering: .relaxed) >= Self.unsentLimit }

    func multipartEnded(of intake: Intake) {
        guard intake.isStopping.load(ordering: .relaxed) else { return }
        whenMultipartEnds.withLock { $0 }?()
    }
}
