internal import CLinux
import Glibc
import TransferSystem

/// Whether the other end of a connection will send no more, also when there is more to be read before that. May be asked on
/// any thread, as long as anybody likes.
package final class PeerEnd: Sendable {
    /// Nothing once the socket is closed. Closed under the lock, so that nobody asks about what has its number then.
    private let number: Locked<Int32?>

    init(_ number: Int32) {
        self.number = Locked(number)
    }

    package var hasCome: Bool {
        number.withLock { number in
            guard let number else { return true }
            // POLLRDHUP of poll(2) has the value of EPOLLRDHUP, and is only in headers for GNU's own.
            let end = Int16(truncatingIfNeeded: EPOLLRDHUP.rawValue)
            var watched = pollfd(fd: number, events: end, revents: 0)
            return poll(&watched, 1, 0) > 0
        }
    }

    /// Closes the socket.
    func close() {
        number.withLock { number in
            if let number { Glibc.close(number) }
            number = nil
        }
    }
}
