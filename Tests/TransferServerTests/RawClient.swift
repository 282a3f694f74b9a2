import Glibc
import TransferIO
import TransferProtocol

/// A client that can break every rule: blocking, and with a time-out on receiving so that no test hangs.
///
/// `@unchecked Sendable`: one thread may send while another one receives; the two share nothing but the socket.
final class RawClient: @unchecked Sendable {
    /// What the server did that the test did not expect.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What one step of reading found.
    enum Heard: Equatable {
        case message(Message)
        case closed
    }

    /// Seconds to wait for anything at all.
    private static let patience = 20

    /// Waiting is done here and not on the few threads that all tests of the process share.
    private static let threads = BlockingPool(name: "test-clients", threads: 512)

    private let number: Int32
    private var parser = FrameParser()
    private var received: [UInt8] = []

    init(port: UInt16) throws {
        number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let code = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(description: "connect: \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(number)
    }

    /// Sends all of it; a server that has closed already is not this function's business.
    func send(_ bytes: [UInt8]) async {
        await Self.threads.run { [self] in sendNow(bytes) }
    }

    private func sendNow(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ messages: Message...) async {
        await send(messages.reduce(into: []) { $1.encode(into: &$0) })
    }

    /// Says that nothing more will come.
    func endSending() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// The next message, or the end of the connection.
    func next() async throws -> Heard {
        try await Self.threads.run { [self] in Result { try nextNow() } }.get()
    }

    private func nextNow() throws -> Heard {
        while true {
            switch try step() {
            case .message(let message, let consumed):
                received.removeFirst(consumed)
                return .message(message)
            case .data: throw Failure(description: "the server sent data")
            case .needsMore: guard try receive() else { return .closed }
            }
        }
    }

    /// The next result, whatever else comes before it.
    func result() async throws -> UploadResult {
        while case .message(let message) = try await next() {
            if case .result(let result) = message { return result }
        }
        throw Failure(description: "the server closed the connection before it sent a result")
    }

    /// Reads to the end of the connection.
    func waitForClose() async throws {
        while try await next() != .closed {}
    }

    private func step() throws -> FrameParser.Step {
        try received.withUnsafeBytes { bytes in Result { () throws(ProtocolFault) in try parser.next(bytes.bytes) } }
            .get()
    }

    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(number, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN { throw Failure(description: "the server said nothing for \(Self.patience) s") }
        // A reset is an end too: the server closed while bytes were on their way to it.
        guard count > 0 else { return false }
        received += buffer[..<count]
        return true
    }
}
