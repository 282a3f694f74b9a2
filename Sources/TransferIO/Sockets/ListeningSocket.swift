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

    /// Fires when there may be a connection to accept.
    package let acceptable = Signal()

    private let socket: BoundSocket
    private let loop: EventLoop
    private var registration: Registration?

    /// The address that it really listens on.
    package var address: SocketAddress { socket.address }

    /// How clients call it.
    package var endpoint: Endpoint { socket.endpoint }

    /// Binds and listens. The caller is isolated to the loop.
    ///
    /// - Parameter unixPath: the path of a Unix-domain address, removed again on close.
    package convenience init(_ wanted: SocketAddress, unixPath: String? = nil, loop: EventLoop) throws(SystemError) {
        try self.init(BoundSocket(wanted, unixPath: unixPath), loop: loop)
    }

    /// Accepts from a socket, which is closed with this one. The caller is isolated to the loop.
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
        // Trap: our own mistake; nothing from outside decides it.
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
            let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            descriptor = clinux_accept4(socket.number, address, &length, flags)
            return descriptor
        }
        return (descriptor, peer)
    }

    /// Stops listening; connections that nobody accepted are reset by the kernel.
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
