internal import CLinux
import Glibc
import TransferSystem

/// Shows whether the peer has ended its direction of a connection, even if unread bytes remain. Can be used on any
/// thread, and after the connection is closed.
package final class PeerEnd: Sendable {
    /// The descriptor; nil once it is closed. It is closed while the lock is held, so that no thread polls another file
    /// that has got its number.
    private let number: Locked<Int32?>

    init(_ number: Int32) {
        self.number = Locked(number)
    }

    package var hasCome: Bool {
        number.withLock { number in
            guard let number else { return true }
            // POLLRDHUP of poll(2), which headers define only for GNU sources, has the value of EPOLLRDHUP.
            let end = Int16(truncatingIfNeeded: EPOLLRDHUP.rawValue)
            var watched = pollfd(fd: number, events: end, revents: 0)
            return poll(&watched, 1, 0) > 0
        }
    }

    /// Closes the socket's descriptor, at most once.
    func close() {
        number.withLock { number in
            if let number { Glibc.close(number) }
            number = nil
        }
    }
}
