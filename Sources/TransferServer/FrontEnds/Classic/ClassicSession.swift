import Synchronization
package import TransferAccess
package import TransferClassic
import TransferConnection
package import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// The front end of one classic framing, see docs/reference/dialects.md. It has its own listener, on which nothing else is spoken, so
/// clients need not be recognised.
struct ClassicFrontEnd: FrontEnd {
    let listener: ClassicListener

    var name: String { listener.framing.name }

    /// Empty: classic framings do not use TLS.
    var protocols: [String] { [] }

    var openingSize: Int { 0 }

    func recognise(_ opening: [UInt8]) -> Recognition { .yes }

    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
        do throws(Refusal) {
            let scope = try UploadScope(listener.grant.source, secret: core.transport.uploadSecret)
            return handover.connection(ClassicSession(handover, core, listener, scope))
        } catch {
            return handover.connection(ending: .refused(error), ClassicSession(handover, core, listener, nil))
        }
    }
}

/// The listener of one classic framing, and what its clients may do. They cannot identify themselves, so all of them count as one client
/// with one folder, quota and set of files.
package struct ClassicListener: Sendable {
    package let framing: ClassicFraming

    package let endpoint: Endpoint

    package let options: AccessOptions

    /// Names from the lists of keys and tokens that clients may use here without a key or a token; only for framings with names.
    package let people: [String]

    package init(
        _ framing: ClassicFraming, on endpoint: Endpoint, _ options: AccessOptions, people: [String] = []
    ) {
        (self.framing, self.endpoint, self.options, self.people) = (framing, endpoint, options, people)
    }

    /// Name of the listener's clients in logs and receipts. Their files belong to this name, also after the server is started again.
    package var name: String { "\(framing.name) \(endpoint)" }

    /// The number by which a supervisor identifies the listener.
    package var mark: Int32 { ListenerUse.mark(of: name) }

    var grant: Grant { Grant(.listener(name), name: name, options: options) }
}

/// The session of a client with a classic framing. It parses on the loop; steps of uploads go to the pool in batches. Answers are sent in
/// the order of the uploads, each when its upload is settled.
final class ClassicSession: ServedSession {
    typealias Batch = ClassicBatch
    typealias Chunk = AnswerChunk

    let client: ServedClient
    let worker: UploadWorker<ClassicSteps>
    var wire: ClassicWire
    /// The state of a client that has a name and a mailbox; nil in framings without names.
    var chat: ChatState?
    let bell = MailBell()
    let names: ChatNames

    init(_ handover: Handover, _ core: ServerCore, _ listener: ClassicListener, _ scope: UploadScope?) {
        client = ServedClient(handover, core)
        wire = ClassicWire(listener.framing)
        names = core.chatNames
        let (origin, number) = (client.origin, client.number)
        let guests = ChatGuests(listener, scope, peer: origin.name, core.intake.mailroom)
        chat = guests.map(ChatState.init)
        let uploads = ConnectionUploads(
            WorkerResources(core), connection: number, peer: origin.name, progress: client.progress)
        worker = UploadWorker(ClassicSteps(uploads, hasDigests: wire.hasDigests, guests: guests))
        let intake = worker.uploads.intake
        (worker.uploads.account, intake.accountHolder, intake.sender) = (
            client.account, client.holder, Sender(handover)
        )
        if let scope { intake.caller = Caller(listener.grant, scope, peer: origin.name) }
    }

    func run(on connection: isolated Connection) async -> (any RestingSession)? {
        greet(on: connection)
        let writer = Task(executorPreference: connection.loop) { await connection.writeLoop() }
        await connection.readLoop()
        await finish(on: connection)
        client.leave()
        await writer.value
        return nil
    }

    /// Clients of these framings do not introduce themselves. So the deadline for the first bytes is that of an idle connection, and a
    /// silent client is still the first to be disconnected when a place is needed.
    private func greet(on connection: isolated Connection) {
        let (driver, timeouts) = (connection.driver, client.settings.timeouts)
        driver.liveness.timeouts.handshake = timeouts.idle
        driver.liveness.timeouts.heartbeat = max(timeouts.idle, timeouts.silence)
        if chat != nil { expectHeartbeats(on: driver) }
        driver.liveness.established(now: .now)
        expectContent(false, on: connection)
    }

    func draining(on connection: isolated Connection) { endIfDone(on: connection) }

    func endIfDone(on connection: isolated Connection) {
        guard connection.ending == nil, connection.isDraining, !wire.isOwing, connection.pipe.isDrained,
            connection.outbound.isEmpty, chat?.isAtRest ?? true
        else { return }
        connection.end(.shutdown)
    }

    /// Silence is a fault inside an upload only, or at any time for a chat client.
    private func expectContent(_ isExpected: Bool, isSized: Bool = false, on connection: isolated Connection) {
        let (driver, timeouts) = (connection.driver, client.settings.timeouts)
        let mayBeSilent = !isExpected && chat == nil
        driver.liveness.timeouts.silence = mayBeSilent ? timeouts.idle : timeouts.silence
        driver.liveness.active(now: .now)
        driver.liveness.expectRate(isExpected && isSized, now: .now)
        connection.armTimer()
    }
}

// MARK: Reading

extension ClassicSession {
    /// Most uploads that may wait for their results; above that the client is not read. Each needs memory for a name and some numbers.
    static let mostUnanswered = 4096

    var expectsContent: Bool { true }

    var mostReceived: Int { .max }

    var isUndecided: Bool { false }

    func decide(on connection: isolated Connection) async {}

    func takeParsingCost() -> Int { wire.takeParsingCost() }

    /// Whether the client may be read: it must have neither too many unanswered uploads nor too many bytes of answers that it has not
    /// taken.
    func takesAnswers(on connection: isolated Connection) -> Bool {
        wire.unanswered < Self.mostUnanswered
            && (chat?.takesSentences ?? client.hasRoom(behind: connection.outbound.count))
    }

    func step(_ batch: ClassicBatch, on connection: isolated Connection) throws(ProtocolFault) -> FoundStep {
        switch try wire.step(batch) {
        case .needsMore: return .needsMore
        case .nothing: break
        case .present(let name): try heard(name, in: batch, on: connection)
        case .begin(let upload):
            if let sender = upload.sender { try introduce(sender, in: batch) }
            // This is determined before the client counts as established. If other code saw the client established before the server began
            // to stop, the upload is not refused.
            let isLate = isStopping(on: connection)
            if !client.progress.present.isEstablished { establish(as: nil) }
            wire.begin(upload, batch, refusal: isLate ? .serverStopping : upload.nameFault)
            expectContent(true, isSized: upload.size != nil, on: connection)
        case .end: expectContent(false, on: connection)
        case .close: connection.end(.done)
        }
        return .step
    }

    /// - Parameter name: the client's name; nil in framings without names.
    func establish(as name: String?) {
        client.progress.established(client: name)
        client.establish()
    }

    func parsed(on connection: isolated Connection) {
        say(wire.takeReplies(), on: connection)
        worker.expectMore(connection.pipe.hasMore)
        endIfDone(on: connection)
    }

    func peerEnded(on connection: isolated Connection) {
        let isBetweenUploads = wire.isBetweenUploads && connection.pipe.isParsed
        connection.end(isBetweenUploads ? .done : .lost("the client closed the connection"))
    }

    /// These framings have no ping from the server. A chat client that takes no bytes for this time is disconnected.
    func sendPing(on connection: isolated Connection) {
        if chat != nil, connection.hasUnsent { connection.end(.fault(.takesNothing)) }
    }

    /// Silence between uploads is no fault, and in most framings an answer to it would look like the answer to the next upload.
    func broke(_ fault: ProtocolFault, on connection: isolated Connection) {
        connection.end(fault.code == .timedOut && !wire.isOwing ? .lost(fault.message) : .fault(fault))
    }

    func flushed(on connection: isolated Connection) {
        if chat != nil { handOn(on: connection) }
        endIfDone(on: connection)
    }
}

// MARK: Storing

extension ClassicSession {
    func work(on connection: isolated Connection) async {
        let batches = connection.pipe.take()
        worker.expectMore(connection.pipe.hasMore)
        let outcome = await onPool { [worker] in worker.process(batches) }
        connection.driver.liveness.active(now: .now)
        if let signIn = outcome.signIn { signedIn(signIn, on: connection) }
        say(wire.settled(outcome.results), on: connection)
        connection.pipe.worked(leaving: outcome.left)
    }

    func rested(on connection: isolated Connection) { endIfDone(on: connection) }
}

// MARK: Ending

extension ClassicSession {
    func ended(for reason: SessionEnding, on connection: isolated Connection) {}

    func abandon() { worker.uploads.isAbandoned.store(true, ordering: .relaxed) }

    func farewell(for fault: ProtocolFault) -> [UInt8] { [] }

    /// Stores what was received completely, says goodbye, and closes.
    private func finish(on connection: isolated Connection) async {
        await connection.finishWork()
        await endHandingOn(on: connection)
        let outcome = await onPool { [worker] in worker.cancel() }
        say(wire.settled(outcome.results), on: connection)
        connection.stopTimer()
        client.log(connection.ending)
        sayGoodbye(on: connection)
        await connection.linger()
    }

    private func sayGoodbye(on connection: isolated Connection) {
        // Inside a message, the client would read a sentence as the message's content.
        guard chat?.isInMessage != true else { return }
        switch connection.ending {
        case .fault(let fault): connection.send(wire.lastAnswers(for: fault))
        case .refused(let refusal):
            connection.send(wire.lastAnswers(for: ProtocolFault(refusal.code, refusal.message)))
        case .shutdown where wire.isOwing:
            connection.send(wire.lastAnswers(for: ProtocolFault(.shuttingDown, Failure.serverStopping.message)))
        case .shutdown, .lost, .done, nil: break
        }
    }
}
