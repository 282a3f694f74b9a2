import Glibc
import TransferSystem
import TransferTestSupport

/// Relays TCP connections on loopback to a server's Unix socket, and can drop the server's answers.
final class Relay: Sendable {
    private struct State {
        var cuts = false
        var cut = 0
        /// The bytes that the server has sent, of all connections.
        var answers: [UInt8] = []
        var pairs: [Pair] = []
    }

    /// A connection's two sockets, closed when no thread uses them any more.
    private final class Pair: Sendable {
        let client: Descriptor
        let server: Descriptor

        init(_ client: Int32, _ server: Int32) {
            self.client = Descriptor(client)
            self.server = Descriptor(server)
        }

        func end() { for number in [client.number, server.number] { shutdown(number, Int32(SHUT_RDWR)) } }
    }

    let port: UInt16
    private let listener: Int32
    private let target: String
    private let state = Monitor(State())

    init(to target: String) throws {
        (listener, port) = try Loopback.listen()
        self.target = target
        let (listener, state) = (listener, state)
        _ = TestThread {
            while let client = try? system("accept", { accept(listener, nil, nil) }) {
                guard let server = Loopback.connect(target) else {
                    close(client)
                    continue
                }
                let pair = Pair(client, server)
                state.withLock { state.state.pairs.append(pair) }
                _ = TestThread { Self.pump(pair, client, server) { _ in true } }
                _ = TestThread { Self.pump(pair, server, client) { Self.passes($0, state) } }
            }
            close(listener)
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        state.withLock { for pair in state.state.pairs { pair.end() } }
    }

    /// The address of the relay for a user of the database.
    func uri(_ options: String = "") -> String {
        "postgres://\(PostgresServer.user)@127.0.0.1:\(port)/postgres?sslmode=disable&gssencmode=disable\(options)"
    }

    /// Drops the next answer of the server and closes the connection.
    func cutNextAnswer() { state.withLock { state.state.cuts = true } }

    /// Bytes that the server has sent through the relay so far.
    var answers: [UInt8] { state.withLock { state.state.answers } }

    /// The number of answers that were dropped.
    var cut: Int { state.withLock { state.state.cut } }

    private static func passes(_ bytes: ArraySlice<UInt8>, _ state: Monitor<State>) -> Bool {
        state.withLock {
            guard !state.state.cuts else {
                state.state.cuts = false
                state.state.cut += 1
                return false
            }
            state.state.answers += bytes
            return true
        }
    }

    /// Copies bytes until one end closes or `passes` returns false.
    private static func pump(_ pair: Pair, _ from: Int32, _ to: Int32, _ passes: (ArraySlice<UInt8>) -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0, passes(buffer[..<count]) else { break }
            guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        pair.end()
    }
}

/// Sockets of tests.
enum Loopback {
    /// A listening socket on a free port of 127.0.0.1.
    static func listen() throws -> (number: Int32, port: UInt16) {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, length) == 0 && Glibc.listen(number, 16) == 0 ? getsockname(number, $0, &length) : -1
            }
        }
        guard number >= 0, code == 0 else { throw SystemError(errno: errno, call: "listen") }
        return (number, UInt16(bigEndian: address.sin_port))
    }

    /// Connects with a Unix socket.
    static func connect(_ path: String) -> Int32? {
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if code == 0 { return number }
        close(number)
        return nil
    }
}
