import CLinux
import Glibc
import TransferModel
import TransferProtocol
import TransferSystem

/// Something that listens where a client expects a server, and says what the test wants.
final class FakeServer {
    /// As `--to` takes it.
    let address: String

    private let port: UInt16
    private var number: Int32
    /// Keeps the port when nothing listens any more.
    private var holder: Int32 = -1

    init() throws {
        (number, port) = try PeerSocket.listening(backlog: 16)
        address = "127.0.0.1:\(port)"
    }

    deinit {
        close()
        if holder >= 0 { Glibc.close(holder) }
    }

    /// Leaves the port to whatever listens there next.
    func close() {
        if number >= 0 { Glibc.close(number) }
        number = -1
    }

    /// Clients are refused from now on. The port stays taken, so that no other test listens there.
    func refuse() {
        close()
        holder = (try? PeerSocket.bound(to: port).number) ?? -1
    }

    /// Waits for a client.
    func accept() throws -> PeerConnection {
        var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard try system("poll", { poll(&waiting, 1, Int32(Program.patience) * 1000) }) == 1 else {
            throw Program.Failure(description: "nobody connected")
        }
        return PeerConnection(Glibc.accept(number, nil, nil))
    }
}

/// A test's end of a connection.
final class PeerConnection {
    private var number: Int32
    private var received: [UInt8] = []
    private var parser = FrameParser()

    init(_ number: Int32) {
        self.number = number
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        var patience = timeval(tv_sec: Program.patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Connects to a server that listens on 127.0.0.1.
    convenience init(to address: String) throws {
        self.init(try PeerSocket.connected(to: address))
    }

    deinit { close() }

    func close() {
        guard number >= 0 else { return }
        // Without this the unread rest of what came would reset the connection and what was sent last with it.
        shutdown(number, Int32(SHUT_WR))
        Glibc.close(number)
        number = -1
    }

    func send(_ bytes: [UInt8]) throws {
        let count = try system("send") { Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        guard count == bytes.count else { throw Program.Failure(description: "send: \(count) bytes") }
    }

    func send(_ message: Message) throws {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        try send(frame)
    }

    /// Reads messages, data left out, until one is of interest. Whoever asks is told that nothing is known here.
    func next<T>(_ interest: (Message) -> T?) throws -> T {
        while true {
            switch try received.withUnsafeBytes({ try parser.next($0.bytes) }) {
            case .needsMore: try receive()
            case .data(_, let consumed): received.removeFirst(consumed)
            case .message(let message, let consumed):
                received.removeFirst(consumed)
                if let found = interest(message) { return found }
                if case .lookup(let lookup) = message { try send(.unknown(lookup.ids)) }
            }
        }
    }

    /// Waits for that many uploads to arrive.
    func uploads(_ count: Int) throws -> [(id: UploadID, end: End)] {
        try (0..<count).map { _ in
            let id = try next { if case .begin(let begin) = $0 { begin.id } else { nil } }
            return (id, try next { if case .end(let end) = $0 { end } else { nil } })
        }
    }

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = try system("recv") { recv(number, &buffer, buffer.count, 0) }
        guard count > 0 else { throw Program.Failure(description: "the connection ended") }
        received += buffer[..<count]
    }
}
