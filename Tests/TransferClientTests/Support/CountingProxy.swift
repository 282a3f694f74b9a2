import TransferClient
import TransferModel
import TransferProtocol
import TransferSystem

/// Relays bytes between clients and a server, and counts what clients send.
final class CountingProxy: Sendable {
    struct Count {
        /// Bytes of content that clients sent.
        var content = 0
        var begun = 0
        /// Folders that clients listed.
        var listed: [String] = []
        /// Uploads that clients looked up.
        var lookedUp = 0
    }

    private let port: UInt16
    private let listener: Wire
    private let count = Locked(Count())

    init(to target: UInt16) {
        let (listener, port) = Wire.listen()
        self.listener = listener
        self.port = port
        onThread { [self] in
            while let client = listener.accept() {
                guard let server = Wire.connect(target) else { continue }
                onThread { self.passUp(client, server) }
                onThread { Self.pass(server, client) { _ in } }
            }
        }
    }

    var address: ServerAddress {
        get throws {
            guard let address = ServerAddress("127.0.0.1:\(port)") else { throw RunningServer.NotListening() }
            return address
        }
    }

    /// Returns the counts since the last call.
    func take() -> Count {
        count.withLock { count in
            defer { count = Count() }
            return count
        }
    }

    func stop() { listener.cut() }

    private func passUp(_ client: Wire, _ server: Wire) {
        var parser = FrameParser()
        var bytes: [UInt8] = []
        Self.pass(client, server) { more in
            bytes += more
            var consumed = 0
            while let parsed = try? parser.next(bytes.span.bytes.extracting(consumed...)) {
                switch parsed {
                case .needsMore:
                    bytes.removeFirst(consumed)
                    return
                case .message(let message, let length):
                    consumed += length
                    self.add(message)
                case .data(let piece, let length):
                    consumed += length
                    self.count.withLock { $0.content += piece.range.count }
                }
            }
        }
    }

    private func add(_ message: Message) {
        count.withLock { count in
            switch message {
            case .begin: count.begun += 1
            case .lookup(let lookup): count.lookedUp += lookup.ids.count
            case .list(let list) where !list.isAboutItself: count.listed.append(list.path)
            default: break
            }
        }
    }

    private static func pass(_ from: Wire, _ to: Wire, _ look: ([UInt8]) -> Void) {
        while let bytes = from.receive() {
            look(bytes)
            guard to.send(bytes) else { break }
        }
        from.cut()
        to.cut()
    }
}
