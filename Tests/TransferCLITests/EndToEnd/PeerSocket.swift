import CLinux
import Glibc

/// Plain TCP sockets on 127.0.0.1.
enum PeerSocket {
    /// Connects to a server that listens on 127.0.0.1.
    static func connected(to address: String) throws -> Int32 {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw Program.Failure(description: "socket: errno \(errno)") }
        var peer = sockaddr_in()
        peer.sin_family = sa_family_t(AF_INET)
        peer.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        peer.sin_port = UInt16(address.split(separator: ":").last ?? "")?.bigEndian ?? 0
        let code = withUnsafePointer(to: &peer) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let reason = errno
            close(number)
            throw Program.Failure(description: "connect: errno \(reason)")
        }
        return number
    }

    /// Listens on a free port of 127.0.0.1.
    ///
    /// - Parameter backlog: number of clients that may wait to be accepted.
    /// - Returns: the socket and its port.
    static func listening(backlog: Int32) throws -> (number: Int32, port: UInt16) {
        let (number, port) = try bound(to: 0)
        guard listen(number, backlog) == 0 else {
            let reason = errno
            close(number)
            throw Program.Failure(description: "listen: errno \(reason)")
        }
        return (number, port)
    }

    /// Binds a port without listening, so that clients are refused.
    ///
    /// - Parameter port: 0 for any free port.
    static func bound(to port: UInt16) throws -> (number: Int32, port: UInt16) {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var wanted = sockaddr_in()
        wanted.sin_family = sa_family_t(AF_INET)
        wanted.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        wanted.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &wanted) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, length) == 0 ? getsockname(number, $0, &length) : -1
            }
        }
        guard code == 0 else {
            let reason = errno
            close(number)
            throw Program.Failure(description: "bind: errno \(reason)")
        }
        return (number, UInt16(bigEndian: wanted.sin_port))
    }
}
