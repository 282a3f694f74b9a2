import Synchronization
import TransferClient
import TransferModel
import TransferProtocol
import TransferSystem

/// A server that follows a script for each connection, one connection after the other.
final class FakeServer: Sendable {
    /// A connection from a client, seen from the server.
    final class Peer {
        enum Arrival: Equatable {
            case message(Message)
            case data(Int)
        }

        let wire: Wire
        private var parser = FrameParser()
        private var bytes: [UInt8] = []

        private let note: (String) -> Void

        init(_ wire: Wire, note: @escaping (String) -> Void) {
            self.wire = wire
            self.note = note
        }

        /// - Returns: nil if the client has closed, is silent or sends invalid frames.
        func next() -> Arrival? {
            while true {
                switch try? parser.next(bytes.span.bytes) {
                case .message(let message, let consumed)?:
                    bytes.removeFirst(consumed)
                    return .message(message)
                case .data(let piece, let consumed)?:
                    bytes.removeFirst(consumed)
                    return .data(piece.range.count)
                case .needsMore?:
                    guard let more = wire.receive() else { return nil }
                    bytes += more
                case nil: return nil
                }
            }
        }

        func send(_ messages: Message...) {
            var frames: [UInt8] = []
            for message in messages { message.encode(into: &frames) }
            wire.send(frames)
        }

        /// Receives `hello` and answers with a welcome.
        func welcome(_ welcome: Welcome = Welcome()) {
            guard case .message(.hello)? = next() else { return }
            send(.welcome(welcome))
        }

        /// Like `next`, but answers pings, and answers lookups like a server that has no files.
        func nextToAnswer() -> Arrival? {
            while let arrival = next() {
                switch arrival {
                case .message(.ping(let token)): send(.pong(token))
                case .message(.lookup(let lookup)): send(.unknown(lookup.ids))
                default: return arrival
                }
            }
            return nil
        }

        /// Skips everything before the next `begin`.
        func nextBegin() -> Begin? {
            while let arrival = nextToAnswer() {
                guard case .message(.begin(let begin)) = arrival else { continue }
                note(begin.path)
                return begin
            }
            return nil
        }

        func nextEnd() -> End? {
            while let arrival = nextToAnswer() {
                if case .message(.end(let end)) = arrival { return end }
            }
            return nil
        }

        /// Receives the next upload and reports that it is committed.
        @discardableResult
        func commitNext() -> Begin? {
            guard let begin = nextBegin() else { return nil }
            commit(begin)
            return begin
        }

        /// Receives the rest of an upload and reports that it is committed.
        func commit(_ begin: Begin) {
            guard let end = nextEnd() else { return }
            send(
                .result(
                    UploadResult(id: begin.id, code: .committed, isDurable: true, size: end.size, digest: end.digest)))
        }

        /// Reads until the client closes, without answering.
        func drain() {
            while next() != nil {}
        }
    }

    let port: UInt16
    private let listener: Wire
    private let count = Atomic<Int>(0)
    private let paths = Locked<[String]>([])

    /// - Parameter script: one function for each connection; after the last one, the server stops listening.
    init(_ script: (@Sendable (Peer) -> Void)...) {
        let (listener, port) = Wire.listen()
        self.listener = listener
        self.port = port
        onThread { [self] in
            for act in script {
                guard let wire = listener.accept() else { return }
                count.add(1, ordering: .relaxed)
                act(Peer(wire) { [self] path in paths.withLock { $0.append(path) } })
            }
            listener.cut()
        }
    }

    /// Connections accepted so far.
    var connections: Int { count.load(ordering: .relaxed) }

    /// Paths of all uploads that the script saw begin.
    var begun: [String] { paths.withLock { $0 } }

    var address: ServerAddress {
        get throws {
            guard let address = ServerAddress("127.0.0.1:\(port)") else { throw RunningServer.NotListening() }
            return address
        }
    }

    /// Stops accepting connections.
    func stop() { listener.cut() }
}
