import CLinux
import Glibc
import TransferModel
import TransferProtocol
import TransferSystem

/// Listens where a client expects a server, and sends what the test wants.
final class FakeServer {
    /// The address in the form that `--to` takes.
    let address: String

    private let port: UInt16
    private var number: Int32
    /// Keeps the port when the server has stopped listening.
    private var holder: Int32 = -1

    init() throws {
        (number, port) = try PeerSocket.listening(backlog: 16)
        address = "127.0.0.1:\(port)"
    }

    deinit {
        close()
        if holder >= 0 { Glibc.close(holder) }
    }

    /// Frees the port for another server.
    func close() {
        if number >= 0 { Glibc.close(number) }
        number = -1
    }

    /// Refuses clients from now on, but keeps the port, so that no other test listens there.
    func refuse() {
        close()
        holder = (try? PeerSocket.bound(to: port).number) ?? -1
    }

    /// Waits for a client to connect.
    func accept() throws -> PeerConnection {
        var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard try system("poll", { poll(&waiting, 1, Int32(Program.patience) * 1000) }) == 1 else {
            throw Program.Failure(description: "nobody connected")
        }
        return PeerConnection(Glibc.accept(number, nil, nil))
    }
}

/// The test's end of a connection.
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
        // Ends the sending direction first. If only close(2) were called, received bytes that were not read would reset
        // the connection and discard the last bytes sent.
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

    /// Reads messages and skips data until `interest` returns a value. Answers lookups as a server that knows no files.
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
