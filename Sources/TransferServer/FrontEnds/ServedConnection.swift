import Synchronization
import TransferAccess
import TransferConnection
import TransferIO
import TransferIntake
import TransferKeys
import TransferProtocol
import TransferPorts
import TransferSystem

/// A connection whose protocol the server knows, on the connection's loop. `run` is called once; the other methods may be called at any
/// time.
protocol ServedConnection: Actor {
    /// Serves the client until the conversation ends or the client becomes idle.
    ///
    /// - Returns: the state of the conversation if the client is idle, and its socket stays open; nil if the socket is closed.
    func run() async -> (any RestingSession)?

    /// Lets what is under way finish, accepts nothing else, and says goodbye.
    func drain()

    /// Stops waiting and ends the connection; the client is informed, so that it can continue elsewhere or later.
    func stop()

    /// Ends at once, because another connection needs the place. The caller closes the socket afterwards.
    ///
    /// - Parameter fault: what the client receives, if its wire can express it.
    func evict(for fault: ProtocolFault)
}

/// The state of a conversation whose client is silent. It is small, because thousands of clients can be silent at once.
protocol RestingSession: Sendable {
    /// Makes the connection that continues the conversation.
    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection
}

/// An accepted connection whose protocol is known, as a front end receives it.
///
/// `@unchecked Sendable`: the accepting side makes it on the loop and does not use the driver afterwards; the session is on the same loop.
struct Handover: @unchecked Sendable {
    /// Number of the connection; later connections have greater numbers.
    let number: Int

    let origin: PeerOrigin
    let loop: EventLoop

    /// Has the socket, and the time of accepting: the deadline of the handshake counts from then.
    let driver: ConnectionDriver

    /// What the status shows of the connection.
    let progress: ConnectionProgress

    /// The settings at the time of accepting.
    let settings: ServerSettings

    /// Bytes that the client has sent already.
    let received: [UInt8]

    /// The refusal that the client receives instead of service; nil for a client that is served.
    let refusal: ProtocolFault?

    /// Makes the connection of a session, which owns the session from then on.
    ///
    /// - Parameter ending: why the session ends at once, without service; nil if it serves the client.
    func connection<Session: ServedSession>(
        ending: SessionEnding? = nil, _ session: sending Session
    ) -> any ServedConnection {
        nonisolated(unsafe) let driver = driver
        return WireConnection(
            driver, on: loop, received: received, ending: refusal.map { .fault($0) } ?? ending, session)
    }
}

/// Why a session reads no more from its client.
enum SessionEnding: Equatable {
    /// The client said goodbye or closed between uploads.
    case done
    /// The connection broke, ended inside an upload, or was not used for too long.
    case lost(String)
    /// The client may not connect, or no longer may, or the server cannot serve it.
    case refused(Refusal)
    /// The client broke the rules of the protocol, or the server gave it up.
    case fault(ProtocolFault)
    /// The server is stopping and has ended the connection.
    case shutdown
}

// MARK: Sessions

/// The server's side of a wire on one connection. Its client is charged for what it makes the server hold, on any wire: what waits for the
/// client is bounded and counted, and a client that does not take it is not read.
protocol ServedSession: WireSession where Ending == SessionEnding, Remainder == (any RestingSession)? {
    var client: ServedClient { get }

    /// Stops waiting for everything that is under way.
    func abandon()

    /// The last bytes for a client whose connection is closed at once; empty if its wire cannot say why.
    func farewell(for fault: ProtocolFault) -> [UInt8]
}

extension WireConnection: ServedConnection where Session: ServedSession {
    func stop() {
        // The session stops waiting even if the connection is ending already.
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

    /// False: a server waits for no answers.
    func isOwedAnswer(on connection: isolated Connection) -> Bool { false }

    func sendingFailed(_ error: StreamError, on connection: isolated Connection) {
        lost(error.reason, on: connection)
        connection.close()
    }

    func lost(_ reason: String, on connection: isolated Connection) { connection.end(.lost(reason)) }

    /// True as soon as the server accepts no more connections, even if this session learns of that a little later.
    func isStopping(on connection: isolated Connection) -> Bool {
        connection.isDraining || client.intake.isStopping.load(ordering: .relaxed)
    }

    /// Runs work on the pool; the client is charged for it.
    func onPool<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await client.transport.pool.run(for: client.account, body)
    }
}

// MARK: The client's account

/// The client of one connection: its address, the parts of the server that serve it, and the account that it is charged on. Each session
/// has one.
final class ServedClient {
    /// Most bytes of answers that may wait for a client; above that the client is not read.
    static let mostUnsent = 256 << 10

    /// The same limit, while too many answers wait for all clients together.
    private static let mostUnsentWhenCrowded = 1

    /// Number of the connection; later connections have greater numbers.
    let number: Int

    let origin: PeerOrigin
    let intake: Intake
    let transport: Transport
    let observability: Observability

    /// The settings at the time of accepting.
    let settings: ServerSettings

    /// What the status shows of the connection.
    let progress: ConnectionProgress

    private(set) var holder: AccountHolder

    /// The account of `holder`, which is charged for work on the pool and for buffers.
    private(set) var account: PoolAccount

    /// Bytes that `Transport.unsent` includes for this connection.
    private var counted = 0

    /// - Parameter holder: the holder of the account that is charged; nil to charge the client's address, because the client is not known
    ///   yet.
    init(_ handover: Handover, _ core: ServerCore, holder: AccountHolder? = nil) {
        (number, origin, settings) = (handover.number, handover.origin, handover.settings)
        (intake, transport, observability) = (core.intake, core.transport, core.observability)
        progress = handover.progress
        self.holder = holder ?? AccountHolder(handover.origin)
        account = transport.accounts.enter(self.holder)
    }

    /// Charges another holder from now on.
    ///
    /// - Returns: whether the holder has changed.
    func pay(as holder: AccountHolder) -> Bool {
        guard holder != self.holder else { return false }
        transport.accounts.leave(self.holder)
        self.holder = holder
        account = transport.accounts.enter(holder)
        return true
    }

    /// The connection is over and is charged for nothing more.
    func leave() { transport.accounts.leave(holder) }

    /// Ends the handshake: its deadline no longer applies.
    func establish() { transport.limits.withLock { $0.establish(number) } }

    /// Whether more answers may be made for the client.
    func hasRoom(behind unsent: Int) -> Bool {
        unsent < (transport.isCrowded ? Self.mostUnsentWhenCrowded : Self.mostUnsent)
    }

    /// Updates how many bytes wait for this client.
    func count(unsent: Int) {
        transport.unsent.wrappingAdd(unsent - counted, ordering: .relaxed)
        counted = unsent
    }

    func log(_ event: LogEvent) { observability.log.write([event]) }

    /// Logs why the session ends.
    func log(_ ending: SessionEnding?) {
        let peer = origin.name
        switch ending {
        case .fault(let fault): log(.protocolError(peer: peer, fault))
        case .refused(let refusal): log(.denied(peer: peer, refusal))
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
    /// The client of a connection. It counts as gone when the end of the stream has arrived.
    ///
    /// - Returns: nil if the socket is closed already.
    init?(_ handover: Handover) {
        guard let end = handover.driver.socket?.peerEnd else { return nil }
        self.init(connection: handover.number, isGone: { end.hasCome })
    }
}
