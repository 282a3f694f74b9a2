internal import CLinux
import Glibc
package import TransferIO
package import TransferSystem

/// Passes a worker's messages to the service manager, which only listens to the process that it has started.
package final class NotificationRelay: Sendable {
    /// Most bytes of one message. A longer message would be cut, but no message is longer.
    private static let longest = 4096

    private let notifier: ServiceNotifier
    /// Descriptor on which messages arrive.
    package let number: Int32
    /// The other end, for workers.
    package let workerEnd: Int32

    /// - Parameter notifier: sends to the service manager.
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

    /// Passes on all messages that have arrived.
    ///
    /// - Parameter isStopping: whether the service ends. If not, a worker's message that it stops is dropped: another process has asked the
    ///   worker to end. The manager would wait for the end of the service, and kill it when that does not happen.
    package func pass(isStopping: Bool) {
        var message = [UInt8](repeating: 0, count: Self.longest)
        while case let count = recv(number, &message, message.count, 0), count > 0 {
            guard isStopping || !message[..<count].starts(with: Self.stopping) else { continue }
            notifier.send(message[..<count])
        }
    }

    /// First bytes of the message that a worker stops (sd_notify(3)).
    private static let stopping = Array("STOPPING=1".utf8)

    /// Sends a message of the supervisor itself.
    package func say(_ message: String) { notifier.send(Array(message.utf8)[...]) }
}
