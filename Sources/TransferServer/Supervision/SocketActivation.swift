import Glibc
package import TransferIO
import TransferSystem

/// Sockets that a service manager has bound and hands over when it starts a server (sd_listen_fds(3)).
package enum SocketActivation {
    private static let variable = (process: "LISTEN_PID", count: "LISTEN_FDS", names: "LISTEN_FDNAMES")

    /// Number of the first socket: SD_LISTEN_FDS_START.
    private static let first: Int32 = 3

    /// More sockets than any server needs; without a limit, a number from the environment could cause an endless loop.
    private static let most: Int32 = 1024

    /// Whether sockets are meant for this process.
    package static var isOffered: Bool { number(variable.process) == getpid() && number(variable.count) ?? 0 > 0 }

    /// Takes the sockets that were meant for this process, and removes the variables, so that child processes do not
    /// see them.
    ///
    /// - Returns: empty if no manager has passed sockets.
    /// - Throws: `ServerError` if one of them is not a listening socket.
    package static func take() throws(ServerError) -> [BoundSocket] {
        defer { for name in [variable.process, variable.count, variable.names] { unsetenv(name) } }
        guard let process = number(variable.process), process == getpid(), let count = number(variable.count) else {
            return []
        }
        guard (0...most).contains(count) else {
            throw ServerError("\(variable.count) is \(count), which is not a number of sockets.")
        }
        var sockets: [BoundSocket] = []
        for number in first..<first + count {
            do throws(SystemError) {
                sockets.append(try BoundSocket(inherited: number))
            } catch {
                throw ServerError(
                    "The descriptor \(number), which \(variable.count) announces, is not a listening "
                        + "stream socket: \(error.reason). The socket unit needs ListenStream=, and must not "
                        + "have Accept=yes.")
            }
        }
        return sockets
    }

    private static func number(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
}
