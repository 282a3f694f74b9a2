import CLinux
import Glibc
import TransferIO
import TransferSystem
import TransferTestSupport

/// A TLS connection whose bytes a test sees. The test may leave received data unread.
final class SecuredSocket {
    private let number: Int32
    private let tls: TLSSide
    private var waiting: ArraySlice<UInt8> = []
    private var scratch = [UInt8](repeating: 0, count: 64 << 10)
    private(set) var isClosed = false

    /// Number of bytes to encrypt at once.
    private static let piece = 128 << 10

    /// Connects, and completes the handshake.
    init(to address: String, _ context: TLSContext) throws {
        number = try PeerSocket.connected(to: address)
        var patience = timeval(tv_sec: Program.patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        tls = try TLSSide(context) { _, _ in true }
        waiting = try tls.shake()[...]
        while !tls.isEstablished {
            flush()
            let count = recv(number, &scratch, scratch.count, 0)
            guard count > 0 else { throw Program.Failure(description: "the server closed in the handshake") }
            waiting += try tls.shake(scratch[..<count])
        }
        flush()
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    deinit { close(number) }

    /// Whether all written bytes have left for the server.
    var isSent: Bool { waiting.isEmpty }

    func say(_ bytes: [UInt8]) throws {
        for start in stride(from: 0, to: bytes.count, by: Self.piece) {
            waiting += try tls.encrypt(Array(bytes[start..<min(start + Self.piece, bytes.count)]))
        }
        sendSome()
    }

    func sendSome() {
        let count = waiting.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count > 0 { waiting = waiting.dropFirst(count) }
        if count < 0, errno != EAGAIN { isClosed = true }
        if waiting.isEmpty { waiting = [] }
    }

    func flush() {
        while !waiting.isEmpty, !isClosed {
            sendSome()
            if !waiting.isEmpty { _ = wait(for: POLLOUT) }
        }
    }

    /// Discards the received bytes.
    ///
    /// - Returns: whether any bytes were received.
    @discardableResult
    func drop() -> Bool {
        var hasCome = false
        while receive() > 0 { hasCome = true }
        return hasCome
    }

    /// Waits for bytes, and reads them.
    ///
    /// - Returns: an empty array at the end of the stream.
    func read() throws -> [UInt8] {
        guard wait(for: POLLIN) else { throw Program.Failure(description: "the server said nothing") }
        let count = receive()
        return count > 0 ? try tls.decrypt(scratch[..<count]).bytes : []
    }

    /// - Returns: whether the socket became ready within a test's patience.
    func wait(for events: Int32) -> Bool {
        var ready = pollfd(fd: number, events: Int16(events), revents: 0)
        return poll(&ready, 1, Int32(Program.patience) * 1000) == 1
    }

    private func receive() -> Int {
        let count = recv(number, &scratch, scratch.count, 0)
        if count == 0 || count < 0 && errno != EAGAIN { isClosed = true }
        return count
    }
}
