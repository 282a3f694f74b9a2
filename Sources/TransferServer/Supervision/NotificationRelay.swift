internal import CLinux
import Glibc
package import TransferIO
package import TransferSystem

/// Passes what a worker says on to the service manager, which listens to the process that it has started and to no other.
package final class NotificationRelay: Sendable {
    /// Bytes of one message; what is longer is cut, and none is.
    private static let longest = 4096

    private let notifier: ServiceNotifier
    /// Where messages arrive.
    package let number: Int32
    /// The other end, for workers.
    package let workerEnd: Int32

    /// - Parameter notifier: leads to the manager.
    package init(_ notifier: ServiceNotifier) throws(SystemError) {
        self.notifier = notifier
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        try system("socketpair") { socketpair(AF_UNIX, type, 0, &ends) }
        (number, workerEnd) = (ends[0], ends[1])
    }

    deinit {
        close(number)
        close(workerEnd)
    }

    /// Passes on all that has come.
    ///
    /// - Parameter isStopping: whether the service ends. A manager that is told so by a worker which somebody else has
    ///   asked to end would wait for the end of the service, and kill it when that does not come.
    package func pass(isStopping: Bool) {
        var message = [UInt8](repeating: 0, count: Self.longest)
        while case let count = recv(number, &message, message.count, 0), count > 0 {
            guard isStopping || !message[..<count].starts(with: Self.stopping) else { continue }
            notifier.send(message[..<count])
        }
    }

    /// What a message begins with that says so (sd_notify(3)).
    private static let stopping = Array("STOPPING=1".utf8)

    /// Says something itself.
    package func say(_ message: String) { notifier.send(Array(message.utf8)[...]) }
}
