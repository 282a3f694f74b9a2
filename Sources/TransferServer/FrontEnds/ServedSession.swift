import Synchronization
import TransferAccess
import TransferConnection
import TransferIO
import TransferProtocol

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
