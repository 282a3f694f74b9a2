import Synchronization
import TransferAccess
import TransferConnection
import TransferIO
import TransferIntake
import TransferKeys
import TransferProtocol
import TransferPorts
import TransferSystem

/// A connection of which the server knows what its client speaks, on the loop of the connection. `run` is called once; the rest may be
/// called at any time.
protocol ServedConnection: Actor {
    /// Lives through the whole conversation, or until its client rests.
    ///
    /// - Returns: what is left of the conversation with a client that rests, whose socket is open; nil where that is closed.
    func run() async -> (any RestingSession)?

    /// Lets what is under way finish, takes nothing else, and says goodbye.
    func drain()

    /// Waits for nothing more; the client is told, so that it can go on elsewhere or later.
    func stop()

    /// Ends at once, because others need the place. The socket is closed afterwards.
    ///
    /// - Parameter fault: what the client is told, where its wire can say it.
    func evict(for fault: ProtocolFault)
}

/// What is kept of a conversation whose client says nothing: as little as it takes to go on, because thousands may rest.
protocol RestingSession: Sendable {
    /// Makes the connection that goes on with it.
    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection
}

/// A connection of which is known how both sides talk and which front end leads the conversation.
///
/// `@unchecked Sendable`: the accepting side makes it on the loop and touches the driver no more; the session lives on the same
/// loop.
struct Handover: @unchecked Sendable {
    /// Of the connection; they grow.
    let number: Int

    let origin: PeerOrigin
    let loop: EventLoop

    /// Has the socket, and the times since the client came: its handshake has one deadline over all of it.
    let driver: ConnectionDriver

    /// What can be seen of the connection from elsewhere.
    let progress: ConnectionProgress

    /// As they were when the client came.
    let settings: ServerSettings

    /// What the client has said already.
    let received: [UInt8]

    /// What the client is told, and then nothing else; nil for a client that is to be served.
    let refusal: ProtocolFault?

    /// Makes the connection of a session, which belongs to the connection from then on.
    ///
    /// - Parameter ending: why the session serves nothing; nil where it does.
    func connection<Session: ServedSession>(
        ending: SessionEnding? = nil, _ session: sending Session
    ) -> any ServedConnection {
        nonisolated(unsafe) let driver = driver
        return WireConnection(
            driver, on: loop, received: received, ending: refusal.map { .fault($0) } ?? ending, session)
    }
}

/// Why a session with a client reads no more.
enum SessionEnding: Equatable {
    /// The client said goodbye or closed between uploads.
    case done
    /// The connection broke, ended inside an upload, or was not used for too long.
    case lost(String)
    /// The client may not come in, or not any more, or the server cannot serve it.
    case refused(Refusal)
    /// The client broke the rules of what is spoken, or was given up.
    case fault(ProtocolFault)
    /// The server is going.
    case shutdown
}

// MARK: Sessions

/// The server's side of a wire on one connection. Its client pays for what it makes the server hold, whatever is spoken: what waits for
/// the client is bounded and counted, and a client that doesn't take it isn't read.
protocol ServedSession: WireSession where Ending == SessionEnding, Remainder == (any RestingSession)? {
    var client: ServedClient { get }

    /// Nothing that is under way is waited for any more.
    func abandon()

    /// What a client hears whose connection is closed at once, where its wire can say it.
    func farewell(for fault: ProtocolFault) -> [UInt8]
}

extension WireConnection: ServedConnection where Session: ServedSession {
    func stop() {
        // Also where the connection is ending already.
        session.abandon()
        end(.shutdown)
    }

    func evict(for fault: ProtocolFault) {
        end(.fault(fault))
        send(session.farewell(for: fault))
        close()
    }
}

extension ServedSession {
    var buffers: BufferPool { client.transport.buffers }
    var bufferAccount: BufferAccount? { client.account.buffers }

    func received(_ count: Int) { client.account.bring(count) }

    func holds(unsent count: Int) { client.count(unsent: count) }

    /// A server waits for no answers.
    func isOwedAnswer(on connection: isolated Connection) -> Bool { false }

    func sendingFailed(_ error: StreamError, on connection: isolated Connection) {
        lost(error.reason, on: connection)
        connection.close()
    }

    func lost(_ reason: String, on connection: isolated Connection) { connection.end(.lost(reason)) }

    /// From the moment on when nobody can connect any more, though this session may hear of that a little later.
    func isStopping(on connection: isolated Connection) -> Bool {
        connection.isDraining || client.intake.isStopping.load(ordering: .relaxed)
    }

    /// The pool works for the client, which pays for it.
    func onPool<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await client.transport.pool.run(for: client.account, body)
    }
}

// MARK: What the client pays with

/// The client of one connection: where it comes from, what of the server serves it, and what it pays with. A session has one.
final class ServedClient {
    /// Bytes of answers that may wait for a client that doesn't read them; then it isn't read either.
    static let mostUnsent = 256 << 10

    /// The same, while as much waits for all clients together as may.
    private static let mostUnsentWhenCrowded = 1

    /// Number of the connection; they grow.
    let number: Int

    let origin: PeerOrigin
    let intake: Intake
    let transport: Transport
    let observability: Observability

    /// As they were when the client came.
    let settings: ServerSettings

    /// What can be seen of the connection from elsewhere.
    let progress: ConnectionProgress

    private(set) var holder: AccountHolder

    /// The holder's. It pays for work on the pool, and for buffers.
    private(set) var account: PoolAccount

    /// Bytes that `Transport.unsent` counts for this connection.
    private var counted = 0

    /// - Parameter holder: nil for a client that has not said who it is, whose address pays.
    init(_ handover: Handover, _ core: ServerCore, holder: AccountHolder? = nil) {
        (number, origin, settings) = (handover.number, handover.origin, handover.settings)
        (intake, transport, observability) = (core.intake, core.transport, core.observability)
        progress = handover.progress
        self.holder = holder ?? AccountHolder(handover.origin)
        account = transport.accounts.enter(self.holder)
    }

    /// Has somebody else pay from now on.
    ///
    /// - Returns: whether that is another one than before.
    func pay(as holder: AccountHolder) -> Bool {
        guard holder != self.holder else { return false }
        transport.accounts.leave(self.holder)
        self.holder = holder
        account = transport.accounts.enter(holder)
        return true
    }

    /// The connection is over: it pays for nothing any more.
    func leave() { transport.accounts.leave(holder) }

    /// The deadline of the handshake no longer counts.
    func establish() { transport.limits.withLock { $0.establish(number) } }

    /// Whether more may be made that waits for the client.
    func hasRoom(behind unsent: Int) -> Bool {
        unsent < (transport.isCrowded ? Self.mostUnsentWhenCrowded : Self.mostUnsent)
    }

    /// Tells how much waits for this client.
    func count(unsent: Int) {
        transport.unsent.wrappingAdd(unsent - counted, ordering: .relaxed)
        counted = unsent
    }

    func log(_ event: LogEvent) { observability.log.write([event]) }

    /// Says in the log why the session ends.
    func log(_ ending: SessionEnding?) {
        let peer = origin.name
        switch ending {
        case .fault(let fault): log(.refused(peer: peer, fault))
        case .refused(let refusal): log(.notAdmitted(peer: peer, refusal))
        case .shutdown: log(.closed(peer: peer, reason: "the server is stopping"))
        case .lost(let reason): log(.closed(peer: peer, reason: reason))
        case .done, nil: log(.closed(peer: peer, reason: "the client is done"))
        }
    }
}

extension StreamSocket {
    /// The Ed25519 key that the client has shown in the TLS handshake; nil without one.
    var clientKey: PublicKey? {
        guard let key = security?.peerKey, key.isEd25519 else { return nil }
        return PublicKey(key.bytes)
    }
}

extension Sender {
    /// The client of a connection, which has gone when the end of what it sends has come.
    ///
    /// - Returns: nil where the socket is closed already.
    init?(_ handover: Handover) {
        guard let end = handover.driver.socket?.peerEnd else { return nil }
        self.init(connection: handover.number, isGone: { end.hasCome })
    }
}
