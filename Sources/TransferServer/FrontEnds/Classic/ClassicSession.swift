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

/// The front end of one of the classic framings, as docs/reference/dialects.md has them, on a listener of its own: nothing else is
/// spoken there, so nothing has to be recognised.
struct ClassicFrontEnd: FrontEnd {
    let listener: ClassicListener

    var name: String { listener.framing.name }

    /// They know no TLS.
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

/// Where clients of one classic framing come in, and what they may do there: they can show nothing, so all who reach it are
/// one client with its own folder, quota and files.
package struct ClassicListener: Sendable {
    package let framing: ClassicFraming

    package let endpoint: Endpoint

    package let options: AccessOptions

    /// Names in the lists of keys and tokens under which clients may come that cannot show any: for framings with names.
    package let people: [String]

    package init(
        _ framing: ClassicFraming, on endpoint: Endpoint, _ options: AccessOptions, people: [String] = []
    ) {
        (self.framing, self.endpoint, self.options, self.people) = (framing, endpoint, options, people)
    }

    /// What its clients are called in logs and receipts, and whom their files belong to, also under a later server.
    package var name: String { "\(framing.name) \(endpoint)" }

    /// What a supervisor calls it.
    package var mark: Int32 { ListenerUse.mark(of: name) }

    var grant: Grant { Grant(.listener(name), name: name, options: options) }
}

/// The session of a client that speaks a classic framing. Parses on the loop; what is to be stored goes to the pool in batches. Answers
/// leave in the order of the uploads, each when its upload has its result.
final class ClassicSession: ServedSession {
    typealias Batch = ClassicBatch
    typealias Chunk = AnswerChunk

    let client: ServedClient
    let worker: UploadWorker<ClassicSteps>
    var wire: ClassicWire
    /// Of a client that has a name and a mailbox; nil in framings that know neither.
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

    /// No client introduces itself here. So a client that has said nothing yet may be idle, as one between two uploads may, and
    /// is still the first to go where a place is needed.
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

    /// Silence inside an upload is a fault; between uploads it is not.
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
    /// Uploads that may wait for their results. A client that sends more of them is not read; each is a name and some numbers.
    static let mostUnanswered = 4096

    var expectsContent: Bool { true }

    var mostReceived: Int { .max }

    var isUndecided: Bool { false }

    func decide(on connection: isolated Connection) async {}

    func takeParsingCost() -> Int { wire.takeParsingCost() }

    /// Uploads without an answer count as much as answers that the client does not take.
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
            // Before others see the client: what they see to be begun is finished by a server that stops.
            let isLate = isStopping(on: connection)
            if !client.progress.present.isEstablished { establish(as: nil) }
            wire.begin(upload, batch, refusal: isLate ? .serverStopping : upload.nameFault)
            expectContent(true, isSized: upload.size != nil, on: connection)
        case .end: expectContent(false, on: connection)
        case .close: connection.end(.done)
        }
        return .step
    }

    /// - Parameter name: what the client is called.
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

    /// The framings have no sign of life that a server could send at any time. A client that takes nothing for as long as this is
    /// not worth waiting for.
    func sendPing(on connection: isolated Connection) {
        if chat != nil, connection.hasUnsent { connection.end(.fault(.takesNothing)) }
    }

    /// Silence between uploads is no fault, and most framings would take an answer to it for one to the next upload.
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

    /// Stores what was received whole, says the last words, and closes.
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
        // Inside a message it would be taken for a part of it.
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
