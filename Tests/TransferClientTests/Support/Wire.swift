import CLinux
import Glibc
import TransferSystem

/// A blocking socket of a test, closed with its last reference. A call that waits longer than `patience` fails.
/// Continuing a stopped process interrupts a wait (signal(7)), and `system` then waits again.
final class Wire: Sendable {
    /// Seconds, far more than any test takes, even on a busy machine under a sanitizer.
    private static let patience = 900

    let number: Int32

    init(_ number: Int32) {
        self.number = number
        var patience = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(number)
    }

    /// - Returns: nil at the end, after a reset, or if no bytes arrive in time.
    func receive(_ limit: Int = 1 << 16) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { bytes in
            try? system("recv") { recv(number, bytes.baseAddress, bytes.count, 0) }
        }
        guard let count, count > 0 else { return nil }
        return Array(bytes[..<count])
    }

    /// Waits for the peer to close, and is false if the peer sends bytes first.
    var isClosed: Bool {
        var byte: UInt8 = 0
        return (try? system("recv") { recv(number, &byte, 1, 0) }) == 0
    }

    /// Whether the peer has not ended its direction; bytes that it sent are not read.
    var isOpen: Bool {
        // POLLRDHUP (poll(2)), which Glibc does not declare.
        var pending = pollfd(fd: number, events: 0x2000, revents: 0)
        poll(&pending, 1, 1000)
        return pending.revents == 0
    }

    /// - Parameter isHeld: whether the bytes wait for the next send or for the end of the connection.
    /// - Returns: false if the peer has closed.
    @discardableResult
    func send(_ bytes: [UInt8], isHeld: Bool = false) -> Bool {
        var rest = bytes[...]
        let flags = Int32(MSG_NOSIGNAL) | (isHeld ? Int32(MSG_MORE) : 0)
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                try? system("send") { Glibc.send(number, bytes.baseAddress, bytes.count, flags) }
            }
            guard let count, count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Ends both directions; threads that wait on the socket see the end.
    func cut() {
        shutdown(number, Int32(SHUT_RDWR))
    }

    // MARK: Making sockets

    /// - Parameter path: path of a Unix socket.
    static func listen(at path: String) throws -> Wire {
        let wire = Wire(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
        try withUnsafePointer(to: address) { pointer in
            _ = try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                try system("bind") { bind(wire.number, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
        _ = try system("listen") { Glibc.listen(wire.number, 1) }
        return wire
    }

    /// - Parameter backlog: nil to reserve a port without listening on it, so that no other process gets the port.
    static func listen(backlog: Int32? = 64) -> (Wire, port: UInt16) {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(0)
        withAddress(&address) { _ = bind(number, $0, $1) }
        if let backlog { Glibc.listen(number, backlog) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withAddress(&address) { address, _ in _ = getsockname(number, UnsafeMutablePointer(mutating: address), &length)
        }
        return (Wire(number), UInt16(bigEndian: address.sin_port))
    }

    func accept() -> Wire? {
        (try? system("accept") { Glibc.accept(number, nil, nil) }).map { Wire($0) }
    }

    static func connect(_ port: UInt16) -> Wire? {
        let wire = Wire(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = loopback(port)
        var code: Int32 = -1
        withAddress(&address) { code = Glibc.connect(wire.number, $0, $1) }
        return code == 0 ? wire : nil
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }

    private static func withAddress(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void
    ) {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// Runs `body`, which blocks, on a separate thread.
func onThread(_ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    pthread_create(
        &thread, nil,
        { context in
            if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context)
    pthread_detach(thread)
}
