import CLinux
import Glibc
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// A client that can break every rule. It blocks, with timeouts in both directions so that no test hangs.
///
/// `@unchecked Sendable`: one thread may send while another one receives. The two share nothing but the socket.
final class RawClient: @unchecked Sendable {
    /// An action of the server that the test did not expect.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Result of reading one message.
    enum Heard: Equatable {
        case message(Message)
        case closed
    }

    /// Seconds to wait for any byte: far more than needed, also on a busy machine under a sanitizer.
    private static let patience = 120

    /// Number of bytes encrypted at once, for which `TLSSide` has room.
    private static let mostAtOnce = 512 << 10

    private let descriptor: Descriptor
    private var number: Int32 { descriptor.number }
    private var parser = FrameParser()
    /// Number of content bytes received as holes.
    private(set) var holeBytes = 0
    private var received: [UInt8] = []
    /// Set after `secure` was called.
    private var tls: TLSSide?

    /// - Parameter source: address of this machine from which the client connects.
    init(_ endpoint: Endpoint, from source: String? = nil) throws {
        guard let address = try endpoint.resolve().first else { throw Failure(description: "no address") }
        descriptor = Descriptor(
            try system("socket") { socket(address.family, Int32(SOCK_STREAM.rawValue), 0) })
        var timeout = timeval(tv_sec: Self.patience, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        if let source = try source.flatMap({ try Endpoint.internet(host: $0, port: 0).resolve().first }) {
            _ = source.withPointer { bind(number, $0, $1) }
        }
        let code = address.withPointer { connect(number, $0, $1) }
        guard code == 0 else { throw Failure(description: "connect: \(String(cString: strerror(errno)))") }
    }

    /// Performs a TLS handshake and encrypts from then on.
    ///
    /// - Parameters:
    ///   - key: key that the client shows.
    ///   - protocols: protocols that the client offers.
    func secure(_ key: KeyPair? = nil, protocols: [String] = [FrameHeader.protocolName]) throws {
        let identity = key.map { TLSIdentity.ed25519(seed: $0.secret.bytes) }
        let tls = try TLSSide(.client(identity, protocols: protocols)) { _, _ in true }
        sendBare(try tls.shake())
        while !tls.isEstablished {
            guard let bytes = try receiveBare() else {
                throw Failure(description: "the server closed in the handshake")
            }
            sendBare(try tls.shake(bytes))
        }
        self.tls = tls
    }

    /// Sends all bytes. Errors are ignored, since the server may have closed the connection.
    func send(_ bytes: [UInt8]) {
        guard let tls else { return sendBare(bytes) }
        for start in stride(from: 0, to: bytes.count, by: Self.mostAtOnce) {
            let piece = Array(bytes[start..<min(bytes.count, start + Self.mostAtOnce)])
            guard let encrypted = try? tls.encrypt(piece) else { return }
            sendBare(encrypted)
        }
    }

    func sendBare(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                try? system("send") { Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
            }
            guard let count, count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ messages: Message...) {
        send(messages.reduce(into: []) { $1.encode(into: &$0) })
    }

    /// Ends the sending side of the connection.
    func endSending() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Whether bytes, or the end of the connection, are received within this time.
    func hasAnswer(within milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, milliseconds) == 1
    }

    /// Whether the server accepts no more bytes for this time.
    func isStalled(milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        return poll(&watched, 1, milliseconds) == 0
    }

    /// Sends the bytes from another thread, and returns when the server has stopped reading for a while.
    ///
    /// - Parameter milliseconds: time without progress after which the server counts as stalled.
    /// - Returns: the thread, and whether all bytes were sent before the server stalled.
    func sendUntilStalled(_ bytes: [UInt8], milliseconds: Int32 = 200) -> (TestThread, wasTaken: Bool) {
        let done = Flag()
        let thread = TestThread {
            self.send(bytes)
            done.set()
        }
        while !done.isSet {
            if isStalled(milliseconds: milliseconds) { return (thread, false) }
        }
        return (thread, true)
    }

    /// Reads the next message, or the end of the connection.
    func next() throws -> Heard {
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

    /// Reads the next message, and throws at the end of the connection.
    func nextMessage() throws -> Message {
        guard case .message(let message) = try next() else { throw Failure(description: "the server closed") }
        return message
    }

    /// Reads the next message, skipping pings, reports of progress and `welcome`.
    func answer() throws -> Message {
        while case .message(let message) = try next() {
            switch message {
            case .ping, .received, .welcome: continue
            default: return message
            }
        }
        throw Failure(description: "the server closed the connection before it answered")
    }

    /// Reads the next result, skipping pings, reports of progress and `welcome`.
    func result() throws -> UploadResult {
        let message = try answer()
        guard case .result(let result) = message else { throw Failure(description: "no result but \(message)") }
        return result
    }

    /// Sends frames and waits for their results.
    ///
    /// - Parameter count: number of results.
    func codes(_ count: Int = 1, to frames: [UInt8]) throws -> [ResultCode] {
        send(frames)
        return try (0..<count).map { _ in try result().code }
    }

    func expectAccept() throws {
        let message = try answer()
        guard case .accept = message else { throw Failure(description: "no accept but \(message)") }
    }

    func goodbye() throws -> Goodbye {
        let message = try answer()
        guard case .goodbye(let goodbye) = message else { throw Failure(description: "no goodbye but \(message)") }
        return goodbye
    }

    /// Reads bytes of a protocol without frames. Fewer are returned if the connection ends earlier.
    func bytes(_ count: Int) throws -> [UInt8] {
        while received.count < count, try receive() {}
        let bytes = Array(received.prefix(count))
        received.removeFirst(bytes.count)
        return bytes
    }

    /// - Returns: the bytes received so far, or the next ones; nil at the end of the connection.
    func some() throws -> [UInt8]? {
        guard try !received.isEmpty || receive() else { return nil }
        defer { received = [] }
        return received
    }

    /// Reads until the end of the connection.
    func waitForClose() throws {
        while try next() != .closed {}
    }

    /// Reads the next piece of a data body, or the zeros of a hole. If a message follows instead, it is read and `data`
    /// is nil.
    func nextData() throws -> (data: [UInt8]?, message: Message?) {
        while true {
            switch try step() {
            case .message(let message, let consumed):
                received.removeFirst(consumed)
                return (nil, message)
            case .data(let piece, let consumed):
                let bytes = Array(received[piece.range])
                received.removeFirst(consumed)
                guard piece.encoding == .hole else { return (bytes, nil) }
                let hole = try bytes.withUnsafeBytes { (body) throws(ProtocolFault) in try Hole(body) }
                holeBytes += hole.count
                return ([UInt8](repeating: 0, count: hole.count), nil)
            case .needsMore: guard try receive() else { throw Failure(description: "the server closed") }
            }
        }
    }

    private func step() throws -> FrameParser.Step {
        try received.withUnsafeBytes { bytes in Result { () throws(ProtocolFault) in try parser.next(bytes.bytes) } }
            .get()
    }

    private func receive() throws -> Bool {
        guard let bytes = try receiveBare() else { return false }
        guard let tls else {
            received += bytes
            return true
        }
        let (plain, isClosed) = try tls.decrypt(bytes)
        received += plain
        // The end may be received together with the last bytes.
        return !isClosed || !plain.isEmpty
    }

    /// - Returns: the received bytes; nil at the end of the connection.
    func receiveBare() throws -> ArraySlice<UInt8>? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do throws(SystemError) {
            let count = try system("recv") { recv(number, &buffer, buffer.count, 0) }
            return count > 0 ? buffer[..<count] : nil
        } catch {
            guard error.errno != EAGAIN else {
                throw Failure(description: "the server said nothing for \(Self.patience) s")
            }
            // A reset is an end as well: the server has closed the connection while bytes were on their way to it.
            return nil
        }
    }
}
