internal import CLinux
import Glibc
package import TransferSystem

/// A listening socket without a loop: connections wait in the kernel's queue until a `ListeningSocket` accepts them.
package final class BoundSocket: Sendable {
    /// The actual address. If port 0 was requested, it has the port that the kernel has chosen.
    package let address: SocketAddress

    /// The descriptor; valid until `close`.
    package let number: Int32

    /// Path of a Unix socket; nil for other sockets.
    private let unixPath: String?
    /// Whether `close` removes the file of a Unix socket.
    private let ownsFile: Bool
    private let isOpen = Locked(true)

    /// Most connections that wait for accept(2); the kernel limits it to net.core.somaxconn.
    private static let backlog: Int32 = 1024

    /// Binds a socket and listens.
    ///
    /// - Parameters:
    ///   - unixPath: path of a Unix socket; the file is removed on close.
    ///   - mode: permissions of the file at `unixPath`; nil to let the umask determine them.
    package init(_ wanted: SocketAddress, unixPath: String? = nil, mode: UInt32? = nil) throws(SystemError) {
        let descriptor = try makeSocket(family: wanted.family)
        let number = descriptor.number
        try Self.prepare(number, family: wanted.family)
        if let unixPath { Self.removeStaleSocket(unixPath) }
        try system("bind") { wanted.withPointer { bind(number, $0, $1) } }
        // The permissions are set before clients can connect.
        if let unixPath, let mode { try Self.change(mode, of: unixPath) }
        try system("listen") { listen(number, Self.backlog) }
        address = try Self.address(of: number)
        self.number = descriptor.release()
        self.unixPath = unixPath
        ownsFile = true
    }

    /// Takes over a listening socket from another process. If it is a Unix socket, closing it leaves its file.
    ///
    /// - Throws: `EINVAL` for any other descriptor.
    package init(inherited number: Int32) throws(SystemError) {
        address = try Self.address(of: number)
        guard Self.option(SO_ACCEPTCONN, of: number) == 1,
            Self.option(SO_TYPE, of: number) == Int32(SOCK_STREAM.rawValue),
            [AF_INET, AF_INET6, AF_UNIX].contains(address.family)
        else { throw SystemError(errno: EINVAL, call: "getsockopt") }
        let flags = try system("fcntl") { fcntl(number, F_GETFL) }
        try system("fcntl") { fcntl(number, F_SETFL, flags | O_NONBLOCK) }
        try system("fcntl") { fcntl(number, F_SETFD, FD_CLOEXEC) }
        self.number = number
        unixPath = address.unixPath
        ownsFile = false
    }

    /// The address as clients write it.
    package var endpoint: Endpoint {
        if address.family == AF_UNIX { return .unix(path: unixPath ?? "") }
        return Endpoint(address.description, defaultPort: 0) ?? .internet(host: "*", port: address.port ?? 0)
    }

    /// Stops listening, unless another process also has the socket. The kernel then resets connections that were not
    /// accepted.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        // The file is removed first: once the socket is closed, another server may put its own socket in the file's
        // place.
        if ownsFile, let unixPath { unlink(unixPath) }
        Glibc.close(number)
    }

    private static func address(of number: Int32) throws(SystemError) -> SocketAddress {
        try SocketAddress.filled(by: "getsockname") { getsockname(number, $0, &$1) }
    }

    private static func option(_ name: Int32, of number: Int32) -> Int32 {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, SOL_SOCKET, name, &value, &size) == 0 ? value : -1
    }

    private static func prepare(_ number: Int32, family: Int32) throws(SystemError) {
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        try system("setsockopt") { setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, size) }
        // Each address has a separate socket, so that [::] and 0.0.0.0 can be used side by side.
        guard family == AF_INET6 else { return }
        try system("setsockopt") { setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
    }

    /// Changes the permissions of the file itself; if the path is a symbolic link, the link's target is not changed.
    private static func change(_ mode: UInt32, of path: String) throws(SystemError) {
        do throws(SystemError) {
            let flags = clinux_o_path | clinux_o_nofollow | O_CLOEXEC
            let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0) })
            let number = file.number
            var status = stat()
            try system("fstat") { fstat(number, &status) }
            guard status.st_mode & S_IFMT == S_IFSOCK else { throw SystemError(errno: ENOTSOCK, call: "chmod") }
            try system("chmod") { chmod("/proc/self/fd/\(number)", mode) }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Removes the file of a socket on which no process listens. Such a file would make bind(2) fail for ever.
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
