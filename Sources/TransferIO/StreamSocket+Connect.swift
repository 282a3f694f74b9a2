internal import CLinux
import Glibc
package import TransferSystem

extension StreamSocket {
    /// Connects to one address. The caller is isolated to the loop.
    ///
    /// - Parameter nanoseconds: after which the attempt is given up.
    /// - Throws: what connect(2) says, ETIMEDOUT included.
    package static func connect(
        to address: SocketAddress, loop: EventLoop, timeout nanoseconds: Int64
    ) async throws(SystemError) -> StreamSocket {
        let socket = try StreamSocket(try makeSocket(family: address.family), loop: loop)
        do throws(SystemError) {
            try await socket.finishConnecting(to: address, loop: loop, timeout: nanoseconds)
        } catch {
            socket.close()
            throw error
        }
        if address.family != AF_UNIX { socket.disableDelay() }
        return socket
    }

    private func finishConnecting(
        to address: SocketAddress, loop: EventLoop, timeout nanoseconds: Int64
    ) async throws(SystemError) {
        guard try !start(address) else { return }
        var hasTimedOut = false
        let timer = loop.schedule(at: monotonicDeadline(after: nanoseconds)) { [writable] in
            hasTimedOut = true
            writable.fire()
        }
        defer { loop.cancel(timer) }
        while true {
            // An edge from before the attempt may be stored in the signal: only a peer or an error ends the wait.
            await writable.wait()
            if let error = pendingError() { throw error }
            if hasPeer { return }
            if hasTimedOut { throw SystemError(errno: ETIMEDOUT, call: "connect") }
        }
    }

    /// - Returns: true when the connection was made at once.
    private func start(_ address: SocketAddress) throws(SystemError) -> Bool {
        let code = address.withPointer { Glibc.connect(number, $0, $1) }
        guard code != 0 else { return true }
        // EINTR means that the attempt goes on (connect(2)); EAGAIN that a Unix-domain backlog is full.
        guard errno == EINPROGRESS || errno == EINTR else { throw SystemError(errno: errno, call: "connect") }
        return false
    }

    private var hasPeer: Bool {
        (try? SocketAddress.filled(by: "getpeername") { getpeername(number, $0, &$1) }) != nil
    }
}

/// A socket that neither blocks nor survives exec.
func makeSocket(family: Int32) throws(SystemError) -> Descriptor {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return Descriptor(try system("socket") { socket(family, type, 0) })
}
