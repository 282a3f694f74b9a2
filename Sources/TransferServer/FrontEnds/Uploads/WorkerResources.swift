import TransferCodec
import TransferSystem
import TransferIO
package import TransferIntake
package import TransferStore

/// What the workers of a conversation need of the server around them.
package struct WorkerResources: Sendable {
    let intake: Intake
    let store: FileStore
    let log: Log

    /// Nothing where everybody may come in.
    let gate: AccessGate?

    /// Whose threads the workers are on, which others want as well.
    let pool: BlockingPool

    /// Memory of answers to requests.
    let chunks: BufferPool

    /// What answers are compressed with.
    let compressors: CompressorPool

    /// Those who want to hear of what is stored; nothing where nobody can.
    let news: UploadNews?

    /// Whether all that clients remove goes to the trash, and what gives way to something else.
    let trashes: Bool

    /// Whether clients are told that files get the owners that they say.
    let offersOwners: Bool
    /// Which directory of this machine the server stores in (`FileStore.identity`); nil where clients are not told.
    let directory: [UInt8]?

    /// Threads that may read what an upload has already, where nobody else waits.
    let digestThreads: Int

    /// Runs something for a worker some time soon, on a thread that may wait for the disk.
    let later: @Sendable (PoolAccount?, @escaping @Sendable () -> Void) -> Void
}

extension WorkerResources {
    /// The part of the trash that one connection puts things into.
    func newTrash() -> TrashPart { TrashPart(utc: { utcNanoseconds() }) }

    init(_ core: ServerCore) {
        let transport = core.transport
        self.init(
            intake: core.intake, store: core.store, log: core.observability.log, gate: transport.gate,
            pool: transport.pool, chunks: transport.chunks, compressors: transport.compressors,
            news: core.configuration.http == .off ? nil : core.http.news,
            trashes: core.trashes, offersOwners: core.configuration.offersOwners,
            directory: core.configuration.tellsDirectory ? core.store.identity : nil,
            digestThreads: transport.digestThreads
        ) { [pool = transport.pool] account, work in pool.submit(for: account, work) }
    }

    /// For whoever drives workers on one thread, without a server: what is to be done later is done at once.
    package init(_ intake: Intake, _ store: FileStore, log: Log) {
        self.init(
            intake: intake, store: store, log: log, gate: nil, pool: BlockingPool(name: "lanes", threads: 1),
            chunks: BufferPool(size: Transport.chunkSize, count: 1), compressors: CompressorPool(), news: nil,
            trashes: false, offersOwners: false, directory: nil, digestThreads: 1
        ) { _, work in work() }
    }
}
