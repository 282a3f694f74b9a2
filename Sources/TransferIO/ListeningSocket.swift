internal import CLinux
import Glibc
package import TransferSystem

/// A socket that accepts connections, on a loop. Belongs to whoever is isolated to it.
package final class ListeningSocket: ReadinessHandler {
    /// What one attempt to accept found.
    package enum Accepted: ~Copyable {
        case connection(Descriptor, peer: SocketAddress)
        case wouldBlock
        /// The process or the system has no descriptor or memory left: wait a little.
        case exhausted(SystemError)
    }

    /// The address that it really listens on: the port is known even when 0 was asked for.
    package let address: SocketAddress

    /// Fires when there may be a connection to accept.
    package let acceptable = Signal()

    private let loop: EventLoop
    private let number: Int32
    private var registration: Registration?
    private let unixPath: String?

    /// Connections that the kernel completes while nobody accepts; clamped by it to net.core.somaxconn.
    private static let backlog: Int32 = 1024

    /// Binds and listens. The caller is isolated to the loop.
    ///
    /// - Parameter unixPath: the path of a Unix-domain address, removed again on close.
    package init(_ wanted: SocketAddress, unixPath: String? = nil, loop: EventLoop) throws(SystemError) {
        let descriptor = try makeSocket(family: wanted.family)
        let number = descriptor.number
        try Self.prepare(number, family: wanted.family)
        if let unixPath { Self.removeStaleSocket(unixPath) }
        try system("bind") { wanted.withPointer { bind(number, $0, $1) } }
        try system("listen") { listen(number, Self.backlog) }
        address = try SocketAddress.filled(by: "getsockname") { getsockname(number, $0, &$1) }
        self.loop = loop
        self.number = number
        self.unixPath = unixPath
        registration = nil
        registration = try loop.register(number, for: .input, self)
        _ = descriptor.release()
    }

    deinit {
        assert(registration == nil, "a listener must be closed before it is let go")
    }

    package func accept() throws(SystemError) -> Accepted {
        guard registration != nil else { return .wouldBlock }
        while true {
            do throws(SystemError) {
                let (descriptor, peer) = try acceptOne()
                return .connection(Descriptor(descriptor), peer: peer)
            } catch {
                switch error.errno {
                case EAGAIN: return .wouldBlock
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(error)
                // The connection died before it was taken, or a network error belongs to it (accept(2)): try the next.
                case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
                    ENETUNREACH, EPERM:
                    continue
                default: throw error
                }
            }
        }
    }

    private func acceptOne() throws(SystemError) -> (Int32, peer: SocketAddress) {
        var descriptor: Int32 = -1
        let peer = try SocketAddress.filled(by: "accept4") { address, length in
            descriptor = clinux_accept4(number, address, &length, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
            return descriptor
        }
        return (descriptor, peer)
    }

    /// Stops listening; connections that nobody accepted are reset by the kernel.
    package func close() {
        guard let registration else { return }
        self.registration = nil
        loop.deregister(registration)
        // First the file: once the socket is closed, another server may take the stale file's place with its own.
        if let unixPath { unlink(unixPath) }
        Glibc.close(number)
        acceptable.fire()
    }

    func ready(_ readiness: Readiness) {
        acceptable.fire()
    }

    private static func prepare(_ number: Int32, family: Int32) throws(SystemError) {
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        try system("setsockopt") { setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, size) }
        // Each address is listened on by its own socket, so that [::] and 0.0.0.0 can be given side by side.
        guard family == AF_INET6 else { return }
        try system("setsockopt") { setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
    }

    /// A socket file that nobody listens on any more is in the way of bind(2) for ever.
    private static func removeStaleSocket(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
            let probe = try? makeSocket(family: AF_UNIX)
        else { return }
        let number = probe.number
        let code = SocketAddress(unixPath: path).withPointer { connect(number, $0, $1) }
        if code != 0, errno == ECONNREFUSED { unlink(path) }
    }
}
