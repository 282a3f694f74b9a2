import CLinux
import Glibc

/// The socket of a service manager: a datagram socket that receives the messages of a service (sd_notify(3)).
package final class NotificationSocket: Sendable {
    package struct Failure: Error {
        package let errno: Int32
    }

    /// The name in the form of `NOTIFY_SOCKET`.
    package let name: String

    private let number: Int32

    /// - Parameter name: a path, or `@` and a name without a file (an abstract address in unix(7)).
    package init(_ name: String) throws(Failure) {
        self.name = name
        number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
        }
        guard number >= 0, code == 0 else { throw Failure(errno: errno) }
    }

    deinit {
        close(number)
    }

    /// Waits for the next message, three minutes at most.
    ///
    /// - Returns: the lines of the message.
    package func next() throws(Failure) -> [String] {
        var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 180_000) == 1 else { throw Failure(errno: ETIMEDOUT) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(number, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failure(errno: errno) }
        return String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits for a message that has the line.
    ///
    /// - Returns: all lines of that message.
    package func wait(for line: String) throws(Failure) -> [String] {
        while true {
            let lines = try next()
            if lines.contains(line) { return lines }
        }
    }
}
