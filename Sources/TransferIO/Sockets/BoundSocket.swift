internal import CLinux
import Glibc
package import TransferSystem

/// A socket that listens and belongs to no loop: connections wait in the kernel's queue until somebody accepts them.
package final class BoundSocket: Sendable {
    /// The address that it really listens on: the port is known even when 0 was asked for.
    package let address: SocketAddress

    /// The descriptor's, until `close`.
    package let number: Int32

    /// Of a Unix socket, the file that stands for it.
    private let unixPath: String?
    /// Whether the file goes with the socket.
    private let ownsFile: Bool
    private let isOpen = Locked(true)

    /// Connections that the kernel completes while nobody accepts; clamped by it to net.core.somaxconn.
    private static let backlog: Int32 = 1024

    /// Binds and listens.
    ///
    /// - Parameters:
    ///   - unixPath: the path of a Unix-domain address, removed again on close.
    ///   - mode: of the file there; nothing for what the umask leaves.
    package init(_ wanted: SocketAddress, unixPath: String? = nil, mode: UInt32? = nil) throws(SystemError) {
        let descriptor = try makeSocket(family: wanted.family)
        let number = descriptor.number
        try Self.prepare(number, family: wanted.family)
        if let unixPath { Self.removeStaleSocket(unixPath) }
        try system("bind") { wanted.withPointer { bind(number, $0, $1) } }
        // Before anybody can connect.
        if let unixPath, let mode { try Self.change(mode, of: unixPath) }
        try system("listen") { listen(number, Self.backlog) }
        address = try Self.address(of: number)
        self.number = descriptor.release()
        self.unixPath = unixPath
        ownsFile = true
    }

    /// Takes a socket that somebody else has bound and listens on; a Unix socket's file stays theirs.
    ///
    /// - Throws: `EINVAL` for what is no such socket.
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

    /// How clients call it.
    package var endpoint: Endpoint {
        if address.family == AF_UNIX { return .unix(path: unixPath ?? "") }
        return Endpoint(address.description, defaultPort: 0) ?? .internet(host: "*", port: address.port ?? 0)
    }

    /// Stops listening, unless somebody else has the socket too; connections that nobody accepted are reset by the kernel
    /// then.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        // First the file: once the socket is closed, another server may take the stale file's place with its own.
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
        // Each address is listened on by its own socket, so that [::] and 0.0.0.0 can be given side by side.
        guard family == AF_INET6 else { return }
        try system("setsockopt") { setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
    }

    /// Of the file itself, and of nothing that a link in its place leads to.
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
