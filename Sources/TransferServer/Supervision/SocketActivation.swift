import Glibc
package import TransferIO
import TransferSystem

/// Sockets that a service manager has bound and hands over when it starts a server (sd_listen_fds(3)).
package enum SocketActivation {
    private static let variable = (process: "LISTEN_PID", count: "LISTEN_FDS", names: "LISTEN_FDNAMES")

    /// The number of the first one: SD_LISTEN_FDS_START.
    private static let first: Int32 = 3

    /// More than anybody listens on; a number from the environment must not become a loop without end.
    private static let most: Int32 = 1024

    /// Whether sockets are meant for this process.
    package static var isOffered: Bool { number(variable.process) == getpid() && number(variable.count) ?? 0 > 0 }

    /// The sockets that were meant for this process. Those that it starts get no word of them.
    ///
    /// - Returns: none where there is no such manager.
    /// - Throws: when one of them is no socket that connections can be accepted on.
    package static func take() throws(ServerError) -> [BoundSocket] {
        defer { for name in [variable.process, variable.count, variable.names] { unsetenv(name) } }
        guard let process = number(variable.process), process == getpid(), let count = number(variable.count) else {
            return []
        }
        guard (0...most).contains(count) else {
            throw ServerError("\(variable.count) is \(count), which is no number of sockets.")
        }
        var sockets: [BoundSocket] = []
        for number in first..<first + count {
            do throws(SystemError) {
                sockets.append(try BoundSocket(inherited: number))
            } catch {
                throw ServerError(
                    "The descriptor \(number), which \(variable.count) promises, is no socket that listens for streams: "
                        + "\(error.reason). A socket unit needs ListenStream= and no Accept=yes.")
            }
        }
        return sockets
    }

    private static func number(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
}
