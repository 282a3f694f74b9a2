internal import CLinux
import Glibc
package import TransferSystem

/// A socket that accepts connections. Used only on its loop.
package final class ListeningSocket: ReadinessHandler {
    /// Result of one attempt to accept.
    package enum Accepted: ~Copyable {
        case connection(Descriptor, peer: SocketAddress)
        case wouldBlock
        /// No descriptor or memory is left: the caller should wait before the next attempt.
        case exhausted(SystemError)
    }

    /// Fires if a connection may be waiting.
    package let acceptable = Signal()

    private let socket: BoundSocket
    private let loop: EventLoop
    private var registration: Registration?

    /// The address on which it listens.
    package var address: SocketAddress { socket.address }

    /// The address as clients write it.
    package var endpoint: Endpoint { socket.endpoint }

    /// Binds a socket and listens. The caller must be isolated to the loop.
    ///
    /// - Parameter unixPath: path of a Unix socket, removed on close.
    package convenience init(_ wanted: SocketAddress, unixPath: String? = nil, loop: EventLoop) throws(SystemError) {
        try self.init(BoundSocket(wanted, unixPath: unixPath), loop: loop)
    }

    /// Accepts the connections of a socket, and closes the socket when it is closed itself. The caller must be isolated
    /// to the loop.
    package init(_ socket: BoundSocket, loop: EventLoop) throws(SystemError) {
        self.socket = socket
        self.loop = loop
        registration = nil
        do throws(SystemError) {
            registration = try loop.register(socket.number, for: .input, self)
        } catch {
            socket.close()
            throw error
        }
    }

    deinit {
        // Trap: only a programming error causes this.
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
                // The connection was lost before it was accepted, or has a network error (accept(2)): the next
                // connection is tried.
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
            let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            descriptor = clinux_accept4(socket.number, address, &length, flags)
            return descriptor
        }
        return (descriptor, peer)
    }

    /// Stops listening; the kernel resets connections that were not accepted.
    package func close() {
        guard let registration else { return }
        self.registration = nil
        loop.deregister(registration)
        socket.close()
        acceptable.fire()
    }

    func ready(_ readiness: Readiness) {
        acceptable.fire()
    }
}
