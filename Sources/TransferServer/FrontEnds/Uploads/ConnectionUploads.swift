import Synchronization
import TransferAccess
import TransferCodec
import TransferGallery
import TransferIO
package import TransferIntake
import TransferModel
import TransferProtocol
import TransferReceipts
package import TransferPorts
import TransferSystem

/// The uploads of one connection, on any wire: hands them to the intake one after the other, rechecks what the client may do, and reports
/// outcomes to the log and the status. Each call returns the uploads that it has settled, in the order in which the client gets the
/// results; the front end encodes them.
///
/// Used by one thread at a time, except for `isAbandoned`, in this order:
///
/// ```
///                  begin                     finish
///   recheck ──► idle ──► receiving (write) ──► idle ──► publish ──► acknowledge ──► endTurn
///                ▲              │ write fails, abort, or access was taken back
///                └──────────────┘ further content of the upload is ignored
/// ```
package final class ConnectionUploads {
    /// The account that later work is charged on.
    private final class Payer: Sendable {
        let account = Locked<PoolAccount?>(nil)
    }

    /// Whether the session ends early, so that the worker does only what it must; set on the session's loop.
    let isAbandoned = Atomic(false)

    /// The client's session with the intake. Its caller is set before the first upload.
    package let intake: IntakeSession

    /// The account that is charged for the work; set before the first upload.
    var account: PoolAccount? {
        get { payer.account.withLock { $0 } }
        set { payer.account.withLock { $0 = newValue } }
    }

    /// Events that are logged at the end of the turn.
    var events: [LogEvent] = []

    /// The trash batch for files that this connection replaces or removes.
    let trash: OpenTrashBatch

    var peer: String
    let resources: WorkerResources
    private let payer = Payer()
    private let progress: ConnectionProgress
    /// Stored uploads to report to clients that listen to events.
    private var news: [UploadNews.Item] = []
    private var failures = FailureTally()
    private var meter: UploadMeter
    private var access: AccessRecheck
    /// Whether the client's access was rechecked in this turn.
    private var wasAccessAsked = false
    /// Whether uploads were published in this turn.
    private var hasPublished = false

    /// - Parameters:
    ///   - connection: number of the connection; later connections have greater numbers.
    ///   - progress: receives the counts of the uploads.
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

    /// The upload whose content is arriving; nil if no upload is open. It is also nil while the rest of a settled upload's content is
    /// ignored.
    var current: OpenUpload? { intake.current }

    /// Reports what happened in the turn to the log, the status, and listeners to events.
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

    /// Ends the uploads of a connection that has ended: incomplete ones fail.
    func leave() {
        if let repeated = failures.repeated { resources.log.write([.moreFailed(repeated, peer: peer)]) }
        if let current { resources.log.write([.connectionLost(current, peer: peer)]) }
        intake.leave()
    }
}

// MARK: Access

extension ConnectionUploads {
    /// Whether an upload is under way and a recheck of access is due.
    var mustRecheck: Bool { current != nil && isRecheckDue }

    /// Whether the last check of what the client may do is too old.
    var isRecheckDue: Bool { access.isDue }

    /// Checks what the client may do now, and refuses the current upload if the client may no longer send it. To be called before anything
    /// begins, and if `mustRecheck` is true; `publish` calls it for complete uploads.
    ///
    /// - Returns: why the client may do nothing any more, and the upload that was refused.
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
    /// Begins an upload, a part, or the end of a multipart upload.
    ///
    /// - Parameter mayEnd: whether its sender waits for an answer before it sends the content, and sends none if the upload is settled.
    /// - Returns: nil if the content is wanted.
    func begin(_ intent: UploadIntent, mayEnd: Bool) -> EndedUpload? {
        let begun = intake.begin(intent, mayEnd: mayEnd)
        return begun.outcome.map { noted(EndedUpload(begun.upload, $0)) }
    }

    /// Logs the beginning of an upload that is long enough to be worth a line.
    func noteBeginning() {
        guard let upload = current, upload.opensLongUpload else { return }
        events.append(.started(upload, peer: peer, isQuiet: failures.isLong))
    }

    /// Gives content, or a digest of content, to the current upload; if that fails, the failure is its result.
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

    /// Finishes the current upload, all content of which has arrived. Publishes complete uploads if many of them wait.
    func finish(_ end: DeclaredEnd) -> [EndedUpload] {
        let settled = finishCurrent(end).map { [$0] } ?? []
        return intake.hasMuchVerified ? settled + publish() : settled
    }

    /// - Returns: nil for an upload that is still to be published.
    private func finishCurrent(_ end: DeclaredEnd) -> EndedUpload? {
        guard let upload = current else { return nil }
        do throws(Failure) {
            return try intake.finish(upload, end).map { noted(EndedUpload(upload, $0)) }
        } catch {
            return refuse(upload, error)
        }
    }

    /// Ends the current upload, which its sender has withdrawn.
    func abort() -> EndedUpload? {
        guard let upload = current else { return nil }
        return noted(EndedUpload(upload, intake.abort(upload)))
    }

    /// Refuses the current upload, with the error as its result.
    private func refuse(_ upload: OpenUpload, _ error: Failure) -> EndedUpload {
        noted(EndedUpload(upload, intake.refuse(upload, error)))
    }

    /// Reports a settled upload to the log and the status.
    ///
    /// - Returns: its argument.
    func noted(_ ended: EndedUpload) -> EndedUpload {
        let (upload, result) = (ended.upload, ended.outcome)
        guard result.code != .staged else { return ended }
        if result.code.isSuccess { meter.stored() }
        count(upload, result)
        let isRepeated = !result.code.isSuccess && failures.add(result.code) > 1
        events.append(
            .settled(
                result, upload.intent.id, path: result.path?.string ?? upload.intent.path,
                for: upload.intent.recipients, began: upload.began, peer: peer, client: intake.caller.name,
                isRepeated: isRepeated))
        return ended
    }
}

extension ConnectionUploads {
    private func count(_ upload: OpenUpload, _ result: UploadOutcome) {
        let duration = monotonicNanoseconds() - upload.began
        progress.settled(result.code, after: duration)
        // An upload for other people's mailboxes is private to its sender and them.
        guard resources.news != nil, upload.intent.recipients.isEmpty,
            case .acknowledged(let acknowledgement) = result, acknowledgement.code == .committed
        else { return }
        news.append(
            UploadNews.Item(
                acknowledgement, client: intake.caller.id, seconds: Double(max(0, duration)) / 1e9))
    }
}

// MARK: The end

extension ConnectionUploads {
    /// Publishes the complete uploads together, so that they share their syncs.
    ///
    /// - Returns: uploads that are settled without being acknowledged by `acknowledge`.
    func publish() -> [EndedUpload] {
        guard intake.pipeline.verifiedCount > 0 else { return [] }
        let began = monotonicNanoseconds()
        var settled: [EndedUpload] = []
        if !wasAccessAsked, let refused = recheck().settled { settled.append(refused) }
        let report = intake.publish()
        if report.hasPublished { hasPublished = true }
        progress.committed(after: monotonicNanoseconds() - began)
        settled += report.ended.map(noted)
        for path in report.healed { events.append(.repaired(path, peer: peer)) }
        return settled
    }

    /// Acknowledges everything that is published.
    ///
    /// - Returns: for each recorded batch, its uploads, and the signature of their receipts if the client wants receipts.
    func acknowledge() -> [(settled: [EndedUpload], signedBatch: SignedBatch?)] {
        intake.acknowledge().map { ($0.uploads.map(noted), $0.signedBatch) }
    }

    /// Whether acknowledgements may wait for those of the next batch, which has arrived already, so that one signature covers both. This is
    /// true only while each batch completes uploads, so that no client waits longer than one batch takes.
    var mayAcknowledgeLater: Bool { hasPublished && intake.pipeline.canShareSignature }
}

/// What workers need from the server.
package struct WorkerResources: Sendable {
    let intake: Intake

    /// The directory tree that clients read and change.
    let tree: any TreeChanging
    let log: Log

    /// Nil if every client may connect.
    let gate: AccessGate?

    /// The pool that runs the workers; other connections use it too.
    let pool: BlockingPool

    /// Provides the memory of answers to requests.
    let chunks: BufferPool

    /// Compressors for answers of any wire.
    let compressors: CompressorPool

    /// Receives stored uploads for clients that listen to events; nil if the server speaks no HTTP.
    let news: UploadNews?

    /// Decodes pictures; nil if the server looks at none.
    let gallery: Gallery?

    /// Whether everything that clients remove or replace goes to the trash.
    let trashes: Bool

    /// Whether clients may set the owners of files.
    let offersOwners: Bool

    /// Identity of the directory on this machine (`ServerStore.identity`); nil if clients do not learn it.
    let directoryIdentity: [UInt8]?

    /// Most threads that may read the received content of an upload again while no other client waits.
    let digestThreads: Int

    /// Runs a closure later, on a thread that may wait for the disk; the account is charged for it.
    let later: @Sendable (PoolAccount?, @escaping @Sendable () -> Void) -> Void
}

extension WorkerResources {
    /// Whether a change that is answered as done survives a crash of the machine.
    var isDurable: Bool { intake.store.durability == .commit }

    /// Makes the trash batch for one connection.
    func newTrash() -> OpenTrashBatch { OpenTrashBatch(utc: { utcNanoseconds() }) }

    init(_ core: ServerCore) {
        let transport = core.transport
        self.init(
            intake: core.intake, tree: core.store, log: core.observability.log,
            gate: transport.gate,
            pool: transport.pool, chunks: transport.chunks, compressors: transport.compressors,
            news: core.configuration.http == .off ? nil : core.http.news, gallery: core.gallery,
            trashes: core.trashes, offersOwners: core.configuration.offersOwners && core.store.abilities.keepsOwners,
            directoryIdentity: core.configuration.tellsDirectory ? core.store.identity : nil,
            digestThreads: transport.digestThreads
        ) { [pool = transport.pool] account, work in pool.submit(for: account, work) }
    }

    /// For tests that drive workers on one thread without a server: `later` runs its closure at once.
    package init(_ intake: Intake, _ tree: any TreeChanging, log: Log) {
        self.init(
            intake: intake, tree: tree, log: log, gate: nil,
            pool: BlockingPool(name: "lanes", threads: 1),
            chunks: BufferPool(size: Transport.chunkSize, count: 1), compressors: CompressorPool(), news: nil,
            gallery: nil,
            trashes: false, offersOwners: false, directoryIdentity: nil, digestThreads: 1
        ) { _, work in work() }
    }
}
