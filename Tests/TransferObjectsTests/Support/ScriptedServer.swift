import Glibc
import TransferHTTP
import TransferSystem
import TransferTestSupport

/// A request as a scripted server has read it.
struct ReceivedRequest: Equatable, Sendable {
    var method = ""
    var target = ""
    /// Values by name in lower case.
    var fields: [String: String] = [:]
    var content: [UInt8] = []

    /// The path, decoded.
    var path: String {
        String(decoding: PercentEncoding.decoded(target.utf8.prefix { $0 != UInt8(ascii: "?") }) ?? [], as: UTF8.self)
    }
}

/// A server on loopback that answers by a script. Each connection has a thread, which runs the script once.
final class ScriptedServer: Sendable {
    /// The server's end of a connection. The client is gone when `read` returns nil.
    final class Connection: Sendable {
        /// The number of the connection, from 0.
        let number: Int
        private let descriptor: Int32
        private let unread = Locked<[UInt8]>([])

        fileprivate init(_ descriptor: Int32, number: Int) { (self.descriptor, self.number) = (descriptor, number) }

        /// Receives some bytes; an empty array at the end.
        func receive() -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 ? Array(buffer[..<count]) : []
        }

        /// Sends all bytes; ignores that the client is gone.
        func send(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        func send(_ text: String) { send(Array(text.utf8)) }

        /// Reads the head of a request.
        func readHead() -> ReceivedRequest? {
            let end = Array("\r\n\r\n".utf8)
            var bytes = unread.withLock { $0 }
            while true {
                if let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) {
                    unread.withLock { [bytes] in $0 = Array(bytes[(start + 4)...]) }
                    return Self.parse(String(decoding: bytes[..<start], as: UTF8.self))
                }
                let more = receive()
                if more.isEmpty { return nil }
                bytes += more
            }
        }

        /// Reads a request with its content.
        func read() -> ReceivedRequest? {
            guard var request = readHead() else { return nil }
            let length = Int(request.fields["content-length"] ?? "0") ?? 0
            var bytes = unread.withLock { $0 }
            while bytes.count < length {
                let more = receive()
                if more.isEmpty { return nil }
                bytes += more
            }
            request.content = Array(bytes.prefix(length))
            unread.withLock { [bytes] in $0 = Array(bytes.dropFirst(length)) }
            return request
        }

        private static func parse(_ head: String) -> ReceivedRequest? {
            let lines = head.split(separator: "\r\n")
            guard let first = lines.first?.split(separator: " "), first.count == 3 else { return nil }
            var request = ReceivedRequest(method: String(first[0]), target: String(first[1]))
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
                request.fields[parts[0].lowercased()] = String(value)
            }
            return request
        }

        /// Answers with a length.
        func answer(_ status: Int, _ fields: [(String, String)] = [], _ content: [UInt8] = []) {
            let lines = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
            send(Array("HTTP/1.1 \(status) X\r\n\(lines)Content-Length: \(content.count)\r\n\r\n".utf8) + content)
        }

        func answer(_ status: Int, _ text: String) { answer(status, [], Array(text.utf8)) }

        /// Answers with an error as engines write it.
        func answer(_ status: Int, error code: String, _ fields: [(String, String)] = []) {
            answer(status, fields, Array("<Error><Code>\(code)</Code><Message>Words.</Message></Error>".utf8))
        }

        /// Closes the connection so that the client's next call fails (SO_LINGER of socket(7)).
        func reset() {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }

        /// Ends the server's direction; the client notices that.
        func end() { shutdown(descriptor, Int32(SHUT_WR)) }

        fileprivate func shut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

        fileprivate func closeDescriptor() { close(descriptor) }
    }

    let port: UInt16
    private let listening: Int32
    private let open = Locked<[Int: Connection]>([:])
    private let accepting: Locked<TestThread?>
    private let workers = Locked<[TestThread]>([])

    /// Listens on a free port.
    ///
    /// - Parameter script: runs for each connection; it is closed at the end.
    init(_ script: @escaping @Sendable (Connection) -> Void) throws {
        let descriptor = try system("socket") {
            socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                _ = try system("bind") { bind(descriptor, raw, size) }
                _ = try system("listen") { listen(descriptor, 64) }
                _ = try system("getsockname") { getsockname(descriptor, raw, &size) }
            }
        }
        listening = descriptor
        port = UInt16(bigEndian: address.sin_port)
        accepting = Locked(nil)
        let thread = TestThread { [self] in acceptAll(script) }
        accepting.withLock { $0 = thread }
    }

    private func acceptAll(_ script: @escaping @Sendable (Connection) -> Void) {
        for number in 0... {
            let descriptor = accept(listening, nil, nil)
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let connection = Connection(descriptor, number: number)
            open.withLock { $0[number] = connection }
            let thread = TestThread { [self] in
                script(connection)
                open.withLock { $0[number] = nil }
                connection.closeDescriptor()
            }
            workers.withLock { $0.append(thread) }
        }
    }

    /// Ends all connections and waits for the threads. Must be called.
    func stop() {
        shutdown(listening, Int32(SHUT_RDWR))
        accepting.withLock { $0 }?.join()
        open.withLock { for connection in $0.values { connection.shut() } }
        for thread in workers.withLock({ $0 }) { thread.join() }
        close(listening)
    }

    var url: String { "http://127.0.0.1:\(port)" }
}

/// Runs a test with a server, on a thread that may wait.
func withServer<T: Sendable>(
    _ script: @escaping @Sendable (ScriptedServer.Connection) -> Void,
    _ test: @escaping @Sendable (ScriptedServer) throws -> T
) async throws -> T {
    let server = try ScriptedServer(script)
    return try await TestThread.run {
        defer { server.stop() }
        return try test(server)
    }
}

/// An event that one thread waits for and another one reports.
final class Event: Sendable {
    private let monitor = Monitor(false)

    func fire() {
        monitor.withLock {
            monitor.state = true
            monitor.wakeAll()
        }
    }

    func wait() {
        monitor.withLock { while !monitor.state { monitor.wait() } }
    }
}

/// Counts up from any thread.
final class Tally: Sendable {
    private let count = Locked(0)

    /// Returns the number before this call.
    @discardableResult
    func next() -> Int {
        count.withLock {
            $0 += 1
            return $0 - 1
        }
    }

    var value: Int { count.withLock { $0 } }
}
