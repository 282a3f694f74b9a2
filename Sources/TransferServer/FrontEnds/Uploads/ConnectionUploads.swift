import Synchronization
import TransferAccess
import TransferCodec
import TransferIO
package import TransferIntake
import TransferModel
import TransferProtocol
import TransferReceipts
package import TransferPorts
import TransferSystem

/// The uploads of one connection, whatever is spoken on it: hands them to the intake one after the other, asks again what
/// the client may do, and tells the log and the status what became of them. Each call returns the uploads that have their results
/// with it, in the order in which the client gets them; how results travel is the front end's.
///
/// Used by one thread at a time, but for `isAbandoned`, in this order:
///
/// ```
///                  begin                     finish
///   recheck ──► idle ──► receiving (write) ──► idle ──► publish ──► acknowledge ──► endTurn
///                ▲              │ write fails, abort, or access was taken back
///                └──────────────┘ what still comes of the upload is ignored
/// ```
package final class ConnectionUploads {
    /// Who pays, for what is done later.
    private final class Payer: Sendable {
        let account = Locked<PoolAccount?>(nil)
    }

    /// Whether the session ends before its time, so that little else is worked on; set on its loop.
    let isAbandoned = Atomic(false)

    /// The client's way into the intake; who that is, is set before the first upload.
    package let intake: IntakeSession

    /// Who pays for the work; set before the first upload.
    var account: PoolAccount? {
        get { payer.account.withLock { $0 } }
        set { payer.account.withLock { $0 = newValue } }
    }

    /// What is to be logged at the end of the turn.
    var events: [LogEvent] = []

    /// Where the connection puts what gives way.
    let trash: TrashPart

    var peer: String
    let resources: WorkerResources
    private let payer = Payer()
    private let progress: ConnectionProgress
    /// What others may want to hear of.
    private var news: [UploadNews.Item] = []
    private var failures = FailureTally()
    private var meter: UploadMeter
    private var access: AccessRecheck
    /// Whether it was asked in this turn what the client may do.
    private var wasAccessAsked = false
    /// Whether uploads were published in this turn.
    private var hasPublished = false

    /// - Parameters:
    ///   - connection: its number; they grow.
    ///   - progress: is told what becomes of the uploads.
    package init(_ resources: WorkerResources, connection: Int, peer: String, progress: ConnectionProgress) {
        (self.resources, self.peer, self.progress) = (resources, peer, progress)
        meter = UploadMeter(progress)
        access = AccessRecheck(resources.gate)
        let way = IntakeSession.Connection(number: connection) { [later = resources.later, payer] work in
            later(payer.account.withLock { $0 }, work)
        }
        intake = IntakeSession(resources.intake, way, caller: Caller(peer: peer))
        trash = resources.newTrash()
        if resources.trashes { intake.trash = trash }
    }

    /// The upload whose content is coming; nil for none, and for an upload that has its result, of which the rest is ignored.
    var current: OpenUpload? { intake.current }

    /// What was done in one turn goes to the log and the status.
    func endTurn() {
        (wasAccessAsked, hasPublished) = (false, false)
        meter.publish(current)
        resources.log.write(events)
        events.removeAll(keepingCapacity: true)
        tellNews()
    }

    private func tellNews() {
        guard !news.isEmpty else { return }
        resources.news?.post(news)
        news.removeAll()
    }

    /// The connection ended: what is not complete will not be.
    func leave() {
        if let repeated = failures.repeated { resources.log.write([.moreFailed(repeated, peer: peer)]) }
        if let current { resources.log.write([.lost(current, peer: peer)]) }
        intake.leave()
    }
}

// MARK: Access

extension ConnectionUploads {
    /// Whether an upload is under way, and its access was not asked for lately.
    var mustRecheck: Bool { current != nil && isRecheckDue }

    /// Whether it was not asked lately what the client may do.
    var isRecheckDue: Bool { access.isDue }

    /// Asks what the client may do now, and gives up the upload under way if the client may not send it any more. To be called before
    /// anything begins, and where `mustRecheck` says so. `publish` calls it for what is complete.
    ///
    /// - Returns: why the client may do nothing any more, and the upload that was given up.
    func recheck() -> (refusal: Refusal?, settled: EndedUpload?) {
        wasAccessAsked = true
        let refusal = access.ask(&intake.caller)
        intake.refusal = refusal
        guard let current else { return (refusal, nil) }
        do throws(Failure) { try intake.reauthorize(current) } catch { return (refusal, refuse(current, error)) }
        return (refusal, nil)
    }
}

// MARK: One upload

extension ConnectionUploads {
    /// Begins an upload, a part of one, or its end.
    ///
    /// - Parameter mayEnd: whether its sender waits for an answer before the content, which need not come then.
    /// - Returns: nil if its content is wanted.
    func begin(_ intent: UploadIntent, mayEnd: Bool) -> EndedUpload? {
        let begun = intake.begin(intent, mayEnd: mayEnd)
        return begun.outcome.map { noted(EndedUpload(begun.upload, $0)) }
    }

    /// Says in the log that the upload has begun, where that is worth a line.
    func noteBeginning() {
        guard let upload = current, upload.opensLongUpload else { return }
        events.append(.begun(upload, peer: peer, isQuiet: failures.isLong))
    }

    /// Gives content, or what is known of it, to the upload that is under way; a failure is its result.
    func write(_ body: (OpenUpload) throws(Failure) -> Void) -> EndedUpload? {
        guard let upload = current else { return nil }
        do throws(Failure) {
            let before = upload.size
            try body(upload)
            meter.took(upload.size - min(before, upload.size))
            return nil
        } catch {
            return refuse(upload, error)
        }
    }

    /// All content of the upload that is under way has come. Publishes what is complete where much of it waits.
    func finish(_ end: DeclaredEnd) -> [EndedUpload] {
        let settled = finishCurrent(end).map { [$0] } ?? []
        return intake.hasMuchVerified ? settled + publish() : settled
    }

    /// - Returns: nil for an upload that is to be published.
    private func finishCurrent(_ end: DeclaredEnd) -> EndedUpload? {
        guard let upload = current else { return nil }
        do throws(Failure) {
            return try intake.finish(upload, end).map { noted(EndedUpload(upload, $0)) }
        } catch {
            return refuse(upload, error)
        }
    }

    /// The sender doesn't want the upload any more.
    func abort() -> EndedUpload? {
        guard let upload = current else { return nil }
        return noted(EndedUpload(upload, intake.abort(upload)))
    }

    /// Gives up the upload that is under way.
    private func refuse(_ upload: OpenUpload, _ error: Failure) -> EndedUpload {
        noted(EndedUpload(upload, intake.refuse(upload, error)))
    }

    /// Tells the log and the status what became of an upload.
    ///
    /// - Returns: the same.
    func noted(_ ended: EndedUpload) -> EndedUpload {
        let (upload, result) = (ended.upload, ended.outcome)
        guard result.code != .staged else { return ended }
        if result.code.isSuccess { meter.stored() }
        count(upload, result)
        let isRepeated = !result.code.isSuccess && failures.add(result.code) > 1
        events.append(
            .settled(
                result, upload.intent.id, path: result.path?.string ?? upload.intent.path,
                for: upload.intent.recipients, began: upload.began, peer: peer, isRepeated: isRepeated))
        return ended
    }
}

extension ConnectionUploads {
    private func count(_ upload: OpenUpload, _ result: UploadOutcome) {
        let duration = monotonicNanoseconds() - upload.began
        progress.settled(result.code, after: duration)
        // What is for somebody is nobody else's business.
        guard resources.news != nil, upload.intent.recipients.isEmpty,
            case .acknowledged(let acknowledgement) = result, acknowledgement.code == .committed
        else { return }
        news.append(
            UploadNews.Item(
                acknowledgement: acknowledgement, client: intake.caller.id, seconds: Double(max(0, duration)) / 1e9))
    }
}

// MARK: The end

extension ConnectionUploads {
    /// Publishes what is complete, so that all of it shares its syncs.
    ///
    /// - Returns: uploads that have their results without being acknowledged here.
    func publish() -> [EndedUpload] {
        guard intake.pipeline.verifiedCount > 0 else { return [] }
        let began = monotonicNanoseconds()
        var settled: [EndedUpload] = []
        if !wasAccessAsked, let refused = recheck().settled { settled.append(refused) }
        let report = intake.publish()
        if report.hasPublished { hasPublished = true }
        progress.committed(after: monotonicNanoseconds() - began)
        settled += report.ended.map(noted)
        for path in report.healed { events.append(.healed(path, peer: peer)) }
        return settled
    }

    /// Acknowledges all that is published.
    ///
    /// - Returns: these uploads, and the signature of their receipts, where the client wants them, of each batch that was recorded.
    func acknowledge() -> [(settled: [EndedUpload], signedBatch: SignedBatch?)] {
        intake.acknowledge().map { ($0.uploads.map(noted), $0.signedBatch) }
    }

    /// Whether acknowledgements may wait for those of a next batch that is there already, to have one signature with them: only
    /// while each batch completes uploads, so that no client waits for longer than that takes.
    var mayAcknowledgeLater: Bool { hasPublished && intake.pipeline.canShareSignature }
}

/// What the workers of a conversation need of the server around them.
package struct WorkerResources: Sendable {
    let intake: Intake

    /// What clients read and change.
    let tree: any TreeChanging
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

    /// Which directory of this machine the server stores in (`ServerStore.identity`); nil where clients are not told.
    let directoryIdentity: [UInt8]?

    /// Threads that may read what an upload has already, where nobody else waits.
    let digestThreads: Int

    /// Runs something for a worker some time soon, on a thread that may wait for the disk.
    let later: @Sendable (PoolAccount?, @escaping @Sendable () -> Void) -> Void
}

extension WorkerResources {
    /// Whether what is answered to be done outlives a crash of the machine.
    var isDurable: Bool { intake.store.durability == .commit }

    /// The part of the trash that one connection puts things into.
    func newTrash() -> TrashPart { TrashPart(utc: { utcNanoseconds() }) }

    init(_ core: ServerCore) {
        let transport = core.transport
        self.init(
            intake: core.intake, tree: core.store, log: core.observability.log,
            gate: transport.gate,
            pool: transport.pool, chunks: transport.chunks, compressors: transport.compressors,
            news: core.configuration.http == .off ? nil : core.http.news,
            trashes: core.trashes, offersOwners: core.configuration.offersOwners && core.store.abilities.keepsOwners,
            directoryIdentity: core.configuration.tellsDirectory ? core.store.identity : nil,
            digestThreads: transport.digestThreads
        ) { [pool = transport.pool] account, work in pool.submit(for: account, work) }
    }

    /// For whoever drives workers on one thread, without a server: what is to be done later is done at once.
    package init(_ intake: Intake, _ tree: any TreeChanging, log: Log) {
        self.init(
            intake: intake, tree: tree, log: log, gate: nil,
            pool: BlockingPool(name: "lanes", threads: 1),
            chunks: BufferPool(size: Transport.chunkSize, count: 1), compressors: CompressorPool(), news: nil,
            trashes: false, offersOwners: false, directoryIdentity: nil, digestThreads: 1
        ) { _, work in work() }
    }
}
