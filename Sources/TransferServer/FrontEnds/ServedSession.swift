import Synchronization
import TransferAccess
import TransferConnection
import TransferIO
import TransferProtocol

/// A conversation with one client, in the way of its front end. Lives on the loop of its connection; whoever makes it lets it
/// run, once.
protocol Session: Actor {
    /// Lives through the whole conversation, or until its client rests; returns when nothing of it is left.
    func run() async

    /// When it has run, what is left of the conversation with a client that rests, whose socket is open; nothing where that is
    /// closed.
    var rest: (any RestingSession)? { get }

    /// Lets what is under way finish, takes nothing else, and says goodbye.
    func drain()

    /// Waits for nothing more; the client is told, so that it can go on elsewhere or later.
    func stop()

    /// Ends at once, because others need the place. The socket is closed afterwards.
    ///
    /// - Parameter fault: what the client is told, where its protocol can say it.
    func evict(for fault: ProtocolFault)
}

extension Session {
    /// Most conversations end when their client has nothing more to say.
    var rest: (any RestingSession)? { nil }
}

/// What is kept of a conversation whose client says nothing: as little as it takes to go on, because thousands may rest.
protocol RestingSession: Sendable {
    /// Makes the session that goes on with it.
    func session(for handover: Handover, of core: ServerCore) -> any Session
}

/// A connection of which is known how both sides talk and which front end leads the conversation.
///
/// `@unchecked Sendable`: the connection makes it on its loop and touches the driver no more; the session lives on the same
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

    /// What the client is told, and then nothing else; nothing for one that is to be served.
    let refusal: ProtocolFault?
}

/// A session whose client pays for what it makes the server hold, whatever is spoken: what waits for the client is bounded
/// and counted, and who doesn't take it isn't read.
protocol ServedSession: Session, PipedSession {
    associatedtype Chunk: OutboundChunk

    nonisolated var transport: Transport { get }

    /// Who pays for its work on the pool, and for its buffers.
    var account: PoolAccount { get }

    /// What waits for the client.
    var outbound: Outbound<Chunk> { get set }

    /// Of its bytes, those that `Transport.unsent` counts.
    var counted: Int { get set }

    /// The client has taken some of what waits for it, or there was nothing.
    func answersTaken()
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

// MARK: Reading

/// Bytes of answers that may wait for a client that doesn't read them; then it isn't read either.
private let outboundLimit = 256 << 10

/// The same, while as much waits for all clients together as may.
private let crowdedLimit = 1

extension ServedSession {
    var buffers: BufferPool { transport.buffers }
    var bufferAccount: BufferAccount? { account.buffers }

    func received(_ count: Int) { account.bring(count) }

    /// Whether the client takes what is sent to it.
    var hasRoomForAnswers: Bool { outbound.count < (transport.isCrowded ? crowdedLimit : outboundLimit) }

    var takesAnswers: Bool { hasRoomForAnswers }
}

// MARK: Sending

extension ServedSession {
    func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, !driver.isOver else { return }
        outbound.append(bytes)
        flush()
    }

    /// Tells how much waits here.
    func countUnsent() {
        let count = driver.isOver ? 0 : outbound.count
        transport.unsent.wrappingAdd(count - counted, ordering: .relaxed)
        counted = count
    }

    var hasUnsent: Bool { !outbound.isEmpty }

    func drain(into socket: StreamSocket) throws(StreamError) -> Bool {
        let before = outbound.count
        defer { countUnsent() }
        try outbound.drain { (bytes) throws(StreamError) in try socket.send(bytes) }
        return outbound.count < before
    }

    func flushed() {
        answersTaken()
        // Whoever doesn't read because of what waits here, or lingers until nothing does.
        if driver.socket?.isReadingPaused == true || isEnding, takesAnswers { driver.wake.fire() }
    }

    func sendingFailed(_ error: StreamError) {
        lost(error.reason)
        close()
    }

    func close() {
        driver.close()
        countUnsent()
    }
}
