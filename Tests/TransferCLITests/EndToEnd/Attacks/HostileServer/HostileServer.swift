import CLinux
import Glibc
import TransferIO
import TransferKeys
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// Listens with TLS, and answers all connections by one script. Its own threads block on the sockets.
final class HostileServer: Sendable {
    /// The address in the form that `--to` takes.
    let address: String

    /// The script, with its records of what the clients have sent.
    let script: Locked<HostileScript>

    private let context: TLSContext
    private let sockets: Locked<Sockets>

    /// The open sockets. A socket is closed with the lock held, because another test may get its number at once, and
    /// `stop` would shut down that test's socket.
    private struct Sockets {
        /// nil when the server accepts no more connections.
        var listener: Int32?
        var connections: Set<Int32> = []
        var isStopped = false
    }

    /// The key of the server's certificate.
    static let key = KeyPair(secret: Bytes32([UInt8](repeating: 0x51, count: 32)) ?? Bytes32())

    init(_ script: HostileScript) throws {
        self.script = Locked(script)
        context = try .server(.ed25519(seed: [UInt8](repeating: 0x51, count: 32)))
        let (number, port) = try PeerSocket.listening(backlog: 64)
        address = "127.0.0.1:\(port)"
        sockets = Locked(Sockets(listener: number))
        _ = TestThread { [self] in
            accept(on: number)
            sockets.withLock { sockets in
                sockets.listener = nil
                close(number)
            }
        }
    }

    /// Stops accepting connections, and ends all that are open. May be called repeatedly.
    func stop() {
        sockets.withLock { sockets in
            sockets.isStopped = true
            if let listener = sockets.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            for number in sockets.connections { shutdown(number, Int32(SHUT_RDWR)) }
        }
    }

    private func accept(on listener: Int32) {
        while true {
            let number = Glibc.accept(listener, nil, nil)
            guard number >= 0 else { return }
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            let isWanted = sockets.withLock { sockets in
                if !sockets.isStopped { sockets.connections.insert(number) }
                return !sockets.isStopped
            }
            guard isWanted else {
                close(number)
                return
            }
            _ = TestThread { [self] in
                try? serve(number)
                sockets.withLock { sockets in
                    sockets.connections.remove(number)
                    close(number)
                }
            }
        }
    }

    private func serve(_ number: Int32) throws {
        let tls = try TLSSide(context)
        var (parser, plain) = (FrameParser(), [UInt8]())
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while case let count = recv(number, &buffer, buffer.count, 0), count > 0 {
            var bytes = buffer[..<count]
            if !tls.isEstablished {
                try send(tls.shake(bytes), number)
                bytes = bytes.suffix(tls.session.unread)
                guard tls.isEstablished else { continue }
            }
            plain += try tls.decrypt(bytes).bytes
            while let (arrival, consumed) = try next(&parser, plain) {
                plain.removeFirst(consumed)
                let client = tls.session.peerKey.flatMap { PublicKey($0.bytes) }
                let reply = script.withLock { $0.reply(to: arrival, of: client, on: number) }
                for start in stride(from: 0, to: reply.bytes.count, by: Self.mostAtOnce) {
                    let piece = reply.bytes[start..<min(start + Self.mostAtOnce, reply.bytes.count)]
                    try send(tls.encrypt(Array(piece)), number)
                }
                if reply.ends { return }
            }
        }
    }

    /// Bytes to encrypt at once, for which `TLSSide` has room.
    private static let mostAtOnce = 512 << 10

    private func next(
        _ parser: inout FrameParser, _ bytes: [UInt8]
    ) throws -> (arrival: HostileScript.Arrival, consumed: Int)? {
        switch try parser.next(bytes.span.bytes) {
        case .needsMore: nil
        case .message(let message, let consumed): (.message(message), consumed)
        case .data(let piece, let consumed): (.data(Array(bytes[piece.range])), consumed)
        }
    }

    private func send(_ bytes: [UInt8], _ number: Int32) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Program.Failure(description: "send: errno \(errno)") }
            sent += count
        }
    }
}
