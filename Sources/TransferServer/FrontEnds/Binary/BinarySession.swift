import Synchronization
import TransferAccess
import TransferCodec
import TransferConnection
import TransferIO
import TransferIntake
package import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// The front end of the binary protocol, which docs/reference/protocol.md specifies.
struct BinaryFrontEnd: FrontEnd {
    /// The first bytes of every frame.
    private static let version = [UInt8(FrameHeader.version >> 8), UInt8(truncatingIfNeeded: FrameHeader.version)]

    let name = "frames"
    let protocols = [FrameHeader.protocolName]
    let openingSize = version.count

    func recognise(_ opening: [UInt8]) -> Recognition {
        guard opening.starts(with: Self.version) else {
            return Self.version.starts(with: opening) ? .needsMore : .no
        }
        return .yes
    }

    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
        handover.connection(BinarySession(handover, core))
    }
}

/// The session of a client of the binary protocol. It reads and parses on the loop. Steps of uploads go to the pool in batches, a limited
/// number at a time; requests go there separately, so that neither waits for the other.
///
/// ```
///   bytes ──wire──► batch ──► UploadWorker ──► frames ──┐
///             └───► requests ──► RequestWorker ─────────┴──► the client
/// ```
final class BinarySession: ServedSession {
    typealias Batch = BinaryBatch
    typealias Chunk = AnswerChunk

    let client: ServedClient
    let worker: UploadWorker<BinarySteps>
    let requests: BinaryRequests
    let mail = MailWatch()
    var wire = BinaryWire()
    private let early = EarlyAnswers()
    /// Whether the last received bytes had steps of uploads.
    private var hasUploads = false
    /// Fired when the client has taken some of the bytes that wait for it.
    private let roomForResults = Signal()
    /// Offset of the end of the last results in all bytes of the connection.
    private var resultsEnd = 0
    private(set) var isAwaitingPeer = false

    init(_ handover: Handover, _ core: ServerCore) {
        client = ServedClient(handover, core)
        let resources = WorkerResources(core)
        let uploads = ConnectionUploads(
            resources, connection: client.number, peer: client.origin.name, progress: client.progress)
        worker = UploadWorker(BinarySteps(uploads, early))
        requests = BinaryRequests(
            RequestWorker(resources, peer: client.origin.name, trash: worker.uploads.trash))
        (worker.uploads.account, worker.intake.accountHolder) = (client.account, client.holder)
        requests.worker.accountHolder = client.holder
        let sender = Sender(handover)
        (worker.intake.sender, requests.worker.sender) = (sender, sender)
    }

    func run(on connection: isolated Connection) async -> (any RestingSession)? {
        connection.armTimer()
        early.connect { [weak connection] in connection?.start { $0.session.sendEarly(on: $0) } }
        let writer = Task(executorPreference: connection.loop) { await connection.writeLoop() }
        await connection.readLoop()
        await finish(on: connection)
        client.leave()
        await writer.value
        return nil
    }

    func send(_ message: Message, on connection: isolated Connection) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        connection.send(frame)
    }

    /// Ends a draining connection when its uploads and answers are complete. Multipart uploads count as well: between two parts the client
    /// has no upload open, although its multipart upload is incomplete. An answer that still waits for the client is not complete.
    func endIfDone(on connection: isolated Connection) {
        // If the connection is ending already, a thread can be using the worker to settle the uploads, so `hasUnfinished` must not be
        // called.
        guard connection.ending == nil, connection.isDraining, wire.isSettled, connection.pipe.isDrained,
            !requests.isServing, connection.outbound.isEmpty
        else { return }
        // No thread is in the worker now.
        if !worker.hasUnfinished { connection.end(.shutdown) }
    }
}

// MARK: Reading

extension BinarySession {
    /// Bytes that a hole counts for in the expected rate. Digesting it takes the client as long as 1 MiB of content, but it is transmitted
    /// in eleven bytes. As eleven bytes, holes would make the client look far slower than the rate.
    private static let worthOfHole = 4 << 10

    /// Few bytes are received before the client is admitted, because what arrives with the greeting is kept outside the buffers.
    var mostReceived: Int { wire.isDecided ? .max : Limits.controlBody }

    /// All clients that are not admitted yet share an account for buffers, and deciding takes time. What arrives after the greeting
    /// continues in a buffer of the client's own account.
    var isUndecided: Bool { wire.undecided != nil }

    func decide(on connection: isolated Connection) async {
        guard let hello = wire.undecided else { return }
        await decide(hello, on: connection)
        wire.decided()
    }

    /// Content is expected inside an upload, and also after uploads, because a push sends many.
    var expectsContent: Bool { hasUploads || wire.isReceiving }

    func takesAnswers(on connection: isolated Connection) -> Bool {
        client.hasRoom(behind: connection.outbound.count)
    }

    func step(_ batch: BinaryBatch, on connection: isolated Connection) throws(ProtocolFault) -> FoundStep {
        let driver = connection.driver
        switch try wire.step(batch, isStopping: isStopping(on: connection)) {
        case .needsMore: return .needsMore
        case .content(let isHole):
            if isHole { driver.liveness.receivedWorth(Self.worthOfHole) }
            return .step
        case .decide: return .lastStep
        case .nothing: break
        case .begun(let isSized):
            driver.liveness.active(now: .now)
            driver.liveness.expectRate(isSized, now: .now)
        case .asked: driver.liveness.active(now: .now)
        case .answer(let request): requests.admit(request, on: connection)
        case .cancel(let id): requests.cancel(id, on: connection)
        case .close: connection.end(.done)
        }
        if !wire.isReceiving { driver.liveness.expectRate(false, now: .now) }
        return .step
    }

    func parsed(on connection: isolated Connection) {
        if let batch = connection.pipe.filling { hasUploads = !batch.isEmpty }
        connection.send(wire.takeAnswers())
        worker.expectMore(connection.pipe.hasMore)
        // A client that waits for mail keeps its connection as long as it sends anything.
        if mail.isListening { connection.driver.liveness.active(now: .now) }
        // On a stopping server, the connection may only have waited for the end of an upload that was refused.
        endIfDone(on: connection)
    }

    func peerEnded(on connection: isolated Connection) {
        let isBetweenUploads = wire.isBetweenUploads && connection.pipe.isParsed
        connection.end(isBetweenUploads ? .done : .lost("the client closed the connection"))
    }

    func broke(_ fault: ProtocolFault, on connection: isolated Connection) { connection.end(.fault(fault)) }

    func sendPing(on connection: isolated Connection) { send(.ping(0), on: connection) }

    func flushed(on connection: isolated Connection) {
        requests.flushed(connection.outbound)
        roomForResults.fire()
        endIfDone(on: connection)
    }
}

// MARK: Storing

extension BinarySession {
    /// Sends results that the worker has before its batch is finished.
    private func sendEarly(on connection: isolated Connection) {
        let (frames, settled) = early.take()
        wire.settled(settled)
        send(results: frames, on: connection)
        endIfDone(on: connection)
    }

    /// Whether the client has taken enough of the results, and of the bytes before them, that the worker may make more. Answers that were
    /// appended after the results do not count: a long one would keep uploads waiting for as long as it is sent.
    private func takesResults(on connection: isolated Connection) -> Bool {
        let sent = connection.outbound.appended - connection.outbound.count
        return client.hasRoom(behind: max(0, resultsEnd - sent))
    }

    private func send(results frames: [UInt8], on connection: isolated Connection) {
        guard !frames.isEmpty else { return }
        connection.send(frames)
        resultsEnd = connection.outbound.appended
    }

    /// Has the worker process the received batches. Waits first until the client has taken enough of the earlier results, so that a client
    /// that takes none has a bounded number of bytes waiting.
    func work(on connection: isolated Connection) async {
        while connection.ending == nil, !connection.driver.isOver, !takesResults(on: connection) {
            isAwaitingPeer = true
            defer { isAwaitingPeer = false }
            await roomForResults.wait()
        }
        let batches = connection.pipe.take()
        worker.expectMore(connection.pipe.hasMore)
        let outcome = await onPool { [worker] in worker.process(batches) }
        sendEarly(on: connection)
        wire.settled(outcome.settled)
        connection.driver.liveness.active(now: .now)
        send(results: outcome.frames, on: connection)
        if let refusal = outcome.refusal { connection.end(.refused(refusal)) }
        if outcome.hasEndedMultipart { client.transport.multipartEnded(of: client.intake) }
        connection.pipe.worked(leaving: outcome.left)
    }

    func rested(on connection: isolated Connection) { endIfDone(on: connection) }
}

// MARK: Ending

extension BinarySession {
    func draining(on connection: isolated Connection) {
        requests.wake()
        endIfDone(on: connection)
    }

    func ended(for reason: SessionEnding, on connection: isolated Connection) {
        roomForResults.fire()
        if reason != .done { abandon() }
    }

    func abandon() { worker.uploads.isAbandoned.store(true, ordering: .relaxed) }

    func farewell(for fault: ProtocolFault) -> [UInt8] {
        var frame: [UInt8] = []
        Message.result(UploadResult(fault)).encode(into: &frame)
        return frame
    }

    /// Stores what was received completely, says goodbye, and closes.
    private func finish(on connection: isolated Connection) async {
        await connection.finishWork()
        await requests.end(on: connection)
        mail.leave(client)
        await onPool { [worker] in _ = worker.cancel() }
        connection.stopTimer()
        client.log(connection.ending)
        sayGoodbye(on: connection)
        await connection.linger()
    }

    private func sayGoodbye(on connection: isolated Connection) {
        switch connection.ending {
        case .fault(let fault): send(.result(UploadResult(fault)), on: connection)
        case .refused(let refusal): send(.result(UploadResult(refusal)), on: connection)
        case .shutdown:
            // Uploads that were begun and are not settled get a result in place of the goodbye.
            let goodbye = Goodbye(.shuttingDown, Failure.serverStopping.message)
            send(wire.isSettled ? .goodbye(goodbye) : .result(.stopping), on: connection)
        case .lost, .done, nil: break
        }
    }
}

extension UploadResult {
    /// The last result on a connection on which an upload was still open.
    fileprivate static let stopping = UploadResult(
        id: .none, code: .shuttingDown, message: Failure.serverStopping.message)
}

/// Frames that a worker sends to its client before its batch is finished. The worker calls `send`; the session takes the frames on its
/// loop.
package final class EarlyAnswers: Sendable {
    private struct State {
        var frames: [UInt8] = []
        var settled: [UploadID] = []
        var notify: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    package init() {}

    /// - Parameter notify: called on the worker's thread when there are frames to take.
    func connect(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    /// - Parameter settled: uploads that these frames answer.
    func send(_ frames: [UInt8], settled: [UploadID] = []) {
        let notify = state.withLock { state in
            state.frames += frames
            state.settled += settled
            return state.notify
        }
        notify?()
    }

    package func take() -> (frames: [UInt8], settled: [UploadID]) {
        state.withLock { state in
            defer { (state.frames, state.settled) = ([], []) }
            return (state.frames, state.settled)
        }
    }
}
