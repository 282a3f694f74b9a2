internal import CLinux
import Glibc
package import TransferSystem

/// A Unix socket in a directory. It sends one text to each program of the same user that connects, and closes the
/// connection. A separate thread serves one connection after the other, so that its clients cannot disturb the server.
package final class ControlSocket: Sendable {
    /// Most nanoseconds for sending a text, which mostly fits into the socket's buffer.
    private static let patience: Int64 = 2_000_000_000

    /// Most connections that wait while one is served. Further connections are refused.
    private static let backlog: Int32 = 16

    private let folder: Int32
    private let listener: Int32
    private let name: String
    private let isClosed = Locked(false)

    /// Binds the socket in place of the socket of an earlier process. Only this user can connect.
    ///
    /// - Parameters:
    ///   - directory: a descriptor of any kind; it may be closed afterwards.
    ///   - name: name of the socket in the directory.
    package init(_ name: String, in directory: Int32) throws(SystemError) {
        let folder = Descriptor(
            try system("open") { clinux_openat(directory, ".", clinux_o_path | clinux_o_directory | O_CLOEXEC, 0) })
        let socket = Descriptor(
            try system("socket") { Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) })
        let (place, number) = (folder.number, socket.number)
        unlinkat(place, name, 0)
        // The mode is set before bind(2), which on Linux creates the file with these permissions (unix(7) mentions only
        // the umask).
        try system("fchmod") { fchmod(number, 0o600) }
        let address = SocketAddress(unixPath: Self.path(name, in: place))
        try system("bind") { address.withPointer { bind(number, $0, $1) } }
        try system("listen") { listen(number, Self.backlog) }
        self.name = name
        self.folder = folder.release()
        listener = socket.release()
    }

    deinit {
        Glibc.close(folder)
        Glibc.close(listener)
    }

    /// A path to the socket that is short even if the directory is deep (unix(7): at most 107 bytes).
    private static func path(_ name: String, in directory: Int32) -> String { "/proc/self/fd/\(directory)/\(name)" }

    /// Starts the thread that answers connections.
    ///
    /// - Parameter text: called for each connection, on the socket's thread.
    package func serve(_ text: @escaping @Sendable () -> String) throws(SystemError) {
        try startThread(name: "transfer-status") { [self] in
            while !isClosed.withLock({ $0 }) { answerOne(text) }
        }
    }

    /// Removes the socket and stops answering.
    package func close() {
        let wasClosed = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return isClosed
        }
        guard !wasClosed else { return }
        unlinkat(folder, name, 0)
        // Wakes the thread that waits for connections.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func answerOne(_ text: () -> String) {
        let number = accept(listener, nil, nil)
        guard number >= 0 else {
            // accept(2) usually fails because no descriptors are left; the pause avoids a busy loop.
            if ![EINTR, ECONNABORTED].contains(errno), !isClosed.withLock({ $0 }) { usleep(100_000) }
            return
        }
        let connection = Descriptor(number)
        guard Self.isTrusted(connection.number) else { return }
        Self.send(text(), connection.number)
    }

    /// Whether the client runs as this user or as root (SO_PEERCRED of unix(7)).
    private static func isTrusted(_ number: Int32) -> Bool {
        // struct ucred: process, user, group.
        var credentials: [UInt32] = [0, .max, .max]
        var length = socklen_t(credentials.count * MemoryLayout<UInt32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return false }
        return [0, geteuid()].contains(credentials[1])
    }

    private static func send(_ text: String, _ number: Int32) {
        var text = text
        let end = monotonicDeadline(after: patience)
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty, waitUntil(end, number, POLLOUT) {
                let count = Glibc.send(number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                guard count > 0 || errno == EAGAIN || errno == EINTR else { return }
                // Trap: send(2) takes no more bytes than it was offered.
                rest = UnsafeRawBufferPointer(rebasing: rest[max(0, count)...])
            }
        }
    }
}

extension ControlSocket {
    /// Most nanoseconds that a client waits for the answer.
    private static var answerPatience: Int64 { 20_000_000_000 }

    /// Most bytes of an answer that are read.
    private static var longestAnswer: Int { 16 << 20 }

    /// Connects to the socket of this name in a directory, and reads its text.
    ///
    /// - Returns: an empty text if this user may not read it.
    /// - Throws: ENOENT if the directory or socket does not exist, ECONNREFUSED if no process listens, ETIMEDOUT.
    package static func read(_ name: String, in directory: String) throws(SystemError) -> [UInt8] {
        let folder = Descriptor(
            try system("open") {
                clinux_openat(AT_FDCWD, directory, clinux_o_path | clinux_o_directory | O_CLOEXEC, 0)
            })
        let socket = Descriptor(
            try system("socket") { Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) })
        let number = socket.number
        let address = SocketAddress(unixPath: path(name, in: folder.number))
        // If too many clients already wait, connecting may take as long as getting an answer.
        var patience = timeval(tv_sec: Int(answerPatience / 1_000_000_000), tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        try system("connect") { address.withPointer { connect(number, $0, $1) } }
        return try readAll(number)
    }

    private static func readAll(_ number: Int32) throws(SystemError) -> [UInt8] {
        let end = monotonicDeadline(after: answerPatience)
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while answer.count <= longestAnswer {
            guard waitUntil(end, number, POLLIN) else { throw SystemError(errno: ETIMEDOUT, call: "recv") }
            let count = try system("recv") { recv(number, &buffer, buffer.count, 0) }
            if count == 0 { return answer }
            // Trap: recv(2) returns no more bytes than there was room for.
            answer += buffer[..<count]
        }
        throw SystemError(errno: EMSGSIZE, call: "recv")
    }

    /// - Returns: false if the time has passed.
    private static func waitUntil(_ end: Int64, _ number: Int32, _ events: Int32) -> Bool {
        while true {
            let left = end - monotonicNanoseconds()
            guard left > 0 else { return false }
            var waiting = pollfd(fd: number, events: Int16(events), revents: 0)
            let count = poll(&waiting, 1, Int32(clamping: left / 1_000_000 + 1))
            if count > 0 { return true }
            guard count == 0 || errno == EINTR else { return false }
        }
    }
}
