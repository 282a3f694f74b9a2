import CLinux
import Glibc
import TransferHTTP
import TransferSystem
import TransferTestSupport

/// The answers of a test's server to requests. Called on the threads of the connections.
protocol HTTPService: Sendable {
    /// - Returns: nil to end the connection without an answer.
    func answer(_ request: HTTPServer.Request) -> HTTPServer.Answer?

    /// The answer to send as soon as the head of a request has arrived. The server then reads no more from that
    /// connection.
    ///
    /// - Returns: nil to read the content first, as servers usually do.
    func early(_ head: RequestHead) -> HTTPServer.Answer?

    /// The connection ended within the content of a request.
    func cut(_ request: HTTPServer.Request)
}

extension HTTPService {
    func early(_ head: RequestHead) -> HTTPServer.Answer? { nil }
}

/// A server of HTTP/1.1 on a port of this machine, with a thread for each connection. Releasing the object stops it.
final class HTTPServer: Sendable {
    struct Request {
        let head: RequestHead
        var body: [UInt8] = []

        subscript(field: String) -> String? {
            head.fields.values(field).first.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    struct Answer {
        var status: Int
        var fields: [(String, String)] = []
        var body: [UInt8] = []
        /// Whether the connection ends after the answer.
        var closes = false
        /// How often the server sends the answer.
        var count = 1

        init(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = [], closes: Bool = false) {
            (self.status, self.fields, self.body, self.closes) = (status, fields, body, closes)
        }
    }

    private struct State {
        var connections: [Int32] = []
        var threads: [TestThread] = []
        var isOver = false
        /// Numbers of content bytes after which the server cuts a connection, in this order, each used once.
        var cuts: [Int] = []
        var accepted = 0
    }

    /// The URL in the form `http://HOST:PORT`.
    let url: String

    private let number: Int32
    private let service: any HTTPService
    private let shared = Shared()

    /// State that the threads use. They hold no reference to the server, so that its owner can release it.
    private final class Shared: Sendable {
        let state = Locked(State())
    }

    init(_ service: any HTTPService) throws {
        self.service = service
        let (number, port) = try PeerSocket.listening(backlog: 64)
        self.number = number
        url = "http://127.0.0.1:\(port)"
        let thread = TestThread { [shared, service] in Self.accept(number, shared, service) }
        shared.state.withLock { $0.threads.append(thread) }
    }

    deinit {
        let threads = shared.state.withLock { state in
            state.isOver = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
            return state.threads
        }
        // Wakes the thread that accepts connections.
        shutdown(number, Int32(SHUT_RDWR))
        for thread in threads { thread.join() }
        for thread in shared.state.withLock({ Array($0.threads.dropFirst(threads.count)) }) { thread.join() }
        close(number)
    }

    /// Cuts connections after these numbers of content bytes, counted from now, one after the other.
    func cut(after counts: [Int]) { shared.state.withLock { $0.cuts += counts } }

    /// Number of connections accepted so far.
    var accepted: Int { shared.state.withLock { $0.accepted } }

    private static func accept(_ number: Int32, _ shared: Shared, _ service: any HTTPService) {
        while true {
            let connection = Glibc.accept(number, nil, nil)
            guard connection >= 0 else { return }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            let isOver = shared.state.withLock { state in
                state.accepted += 1
                if !state.isOver { state.connections.append(connection) }
                return state.isOver
            }
            guard !isOver else {
                close(connection)
                return
            }
            let thread = TestThread {
                Self.serve(connection, shared, service)
                shared.state.withLock { $0.connections.removeAll { $0 == connection } }
                close(connection)
            }
            shared.state.withLock { $0.threads.append(thread) }
        }
    }

    // MARK: One connection

    private static func serve(_ connection: Int32, _ shared: Shared, _ service: any HTTPService) {
        var reader = RequestReader()
        var (held, request, count): ([UInt8], Request?, Int) = ([], nil, 0)
        let limit = shared.state.withLock { $0.cuts.isEmpty ? nil : $0.cuts.removeFirst() }
        while let more = receive(connection) {
            held += more
            while true {
                guard let next = next(&reader, held) else { return }
                let (step, consumed) = next
                switch step {
                case .needsMore: break
                case .head(let head, _):
                    request = Request(head: head)
                    if let answer = service.early(head) {
                        send(connection, bytes(answer, isHead: head.method == .head))
                        return awaitEnd(connection)
                    }
                    if head.expectsContinue { send(connection, Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
                case .content(let range):
                    let room = max(0, min(range.count, (limit ?? .max) - count))
                    request?.body += held[range.prefix(room)]
                    count += range.count
                    if room < range.count {
                        if let request { service.cut(request) }
                        return
                    }
                case .end:
                    guard let whole = request, let answer = service.answer(whole) else { return }
                    request = nil
                    send(connection, bytes(answer, isHead: whole.head.method == .head))
                    if answer.closes { return }
                }
                held.removeFirst(consumed)
                if step == .needsMore { break }
            }
        }
        if let request { service.cut(request) }
    }

    private static func next(_ reader: inout RequestReader, _ held: [UInt8]) -> (step: RequestStep, consumed: Int)? {
        do {
            return try held.withUnsafeBytes { try reader.next($0) }
        } catch {
            return nil
        }
    }

    private static func receive(_ connection: Int32) -> [UInt8]? {
        var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Int32(Program.patience) * 1000) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        let count = recv(connection, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// POLLRDHUP of <bits/poll.h>, which Glibc's module does not have.
    private static let peerEnded: Int16 = 0x2000

    /// Waits for the peer to close the connection, without reading what it sent before.
    private static func awaitEnd(_ connection: Int32) {
        var waiting = pollfd(fd: connection, events: peerEnded, revents: 0)
        poll(&waiting, 1, Int32(Program.patience) * 1000)
    }

    private static func send(_ connection: Int32, _ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func bytes(_ answer: Answer, isHead: Bool) -> [UInt8] {
        var fields = HTTPFields()
        for (name, value) in answer.fields { fields.append(name, value) }
        if answer.status >= 200, answer.status != 204 { fields.append("Content-Length", "\(answer.body.count)") }
        if answer.closes { fields.append("Connection", "close") }
        let head = HeadWriter.bytes(ResponseHead(answer.status, fields: fields)) ?? []
        let whole = head + (isHead ? [] : answer.body)
        return Array(repeatElement(whole, count: answer.count).joined())
    }
}
