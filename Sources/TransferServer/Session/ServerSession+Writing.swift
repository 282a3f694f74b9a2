import Synchronization
import TransferIO
import TransferModel
import TransferProtocol

/// What leaves a session: results, answers and signs of life, as fast as the client takes them.
extension ServerSession {
    /// Bytes of results that may wait for a client that doesn't read them; then it isn't read either.
    private static let outboundLimit = 256 << 10

    /// The same, while as much waits for all clients together as may.
    private static let crowdedLimit = 1

    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        send(frame)
    }

    func send(_ frames: [UInt8]) {
        guard !frames.isEmpty, !isOver, mayTalk else { return }
        outbound.append(frames)
        flush()
    }

    var outboundLimit: Int { context.isCrowded ? Self.crowdedLimit : Self.outboundLimit }

    /// Tells how much waits here.
    func countUnsent() {
        let count = isOver ? 0 : outbound.count
        context.unsent.wrappingAdd(count - counted, ordering: .relaxed)
        counted = count
    }

    func flush() {
        guard !isOver, !outbound.isEmpty, let socket else { return }
        defer { countUnsent() }
        do throws(StreamError) {
            try outbound.drain { (bytes) throws(StreamError) in try socket.send(bytes) }
            liveness.sent(now: .now)
            roomForAnswers.fire()
            endIfDrained()
            // Whoever doesn't read because of what waits here, or lingers until nothing does.
            if socket.isReadingPaused || ending != nil, outbound.count < outboundLimit { wake.fire() }
        } catch {
            end(.lost(error.reason))
            close()
        }
    }

    func writeLoop() async {
        while !isOver {
            await socket?.writable.wait()
            flush()
        }
    }
}
