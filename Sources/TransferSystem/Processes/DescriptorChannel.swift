internal import CLinux
import Glibc

/// One end of a pair of connected sockets, through which two processes exchange short messages with descriptors
/// (unix(7), SOCK_SEQPACKET).
package final class DescriptorChannel: Sendable {
    /// A descriptor that came with a message, or that several owners share.
    package final class Passed: Sendable {
        private let descriptor: Descriptor

        package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

        package var number: Int32 { descriptor.number }
    }

    package enum Arrival: Sendable {
        case message([UInt8], [Passed])
        case nothing
        /// The other end is closed.
        case end
    }

    /// Most descriptors in one message.
    package static let mostDescriptors = Int(clinux_most_descriptors)

    private let socket: Descriptor

    /// Takes ownership of a socket of such a pair.
    package init(_ socket: consuming Descriptor) { self.socket = socket }

    /// Makes both ends; neither is inherited by programs.
    package static func pair() throws(SystemError) -> (DescriptorChannel, DescriptorChannel) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        try system("socketpair") { socketpair(AF_UNIX, kind, 0, &ends) }
        return (DescriptorChannel(Descriptor(ends[0])), DescriptorChannel(Descriptor(ends[1])))
    }

    /// The descriptor is readable when a message waits.
    package var number: Int32 { socket.number }

    /// Sends a message. The receiver gets duplicates of the descriptors.
    ///
    /// - Parameter descriptors: at most `mostDescriptors`.
    /// - Throws: EAGAIN if too many messages are waiting, EPIPE if the other end is closed.
    package func send(_ bytes: [UInt8], _ descriptors: [Int32] = []) throws(SystemError) {
        try system("sendmsg") {
            clinux_send_descriptors(socket.number, bytes, bytes.count, descriptors, descriptors.count)
        }
    }

    /// - Parameter size: bytes of the longest message; the rest of a longer one is lost.
    package func receive(upTo size: Int) throws(SystemError) -> Arrival {
        var bytes = [UInt8](repeating: 0, count: size)
        var numbers = [Int32](repeating: -1, count: Self.mostDescriptors)
        let count = try nonBlocking("recvmsg") {
            clinux_receive_descriptors(socket.number, &bytes, size, &numbers)
        }
        guard let count else { return .nothing }
        let passed = numbers.filter { $0 >= 0 }.map { Passed(Descriptor($0)) }
        return count == 0 ? .end : .message(Array(bytes.prefix(count)), passed)
    }
}

/// A file in memory that has a fixed size, so that another process can write into it, but not make it longer or shorter
/// (memfd_create(2)).
package func fixedMemoryFile(size: Int) throws(SystemError) -> Descriptor {
    Descriptor(try system("memfd_create") { clinux_fixed_memory(off_t(size)) })
}

/// Closes all descriptors of the process from a number on (close_range(2), Linux 5.9).
package func closeDescriptors(from number: Int32) {
    guard clinux_close_from(UInt32(max(0, number))) != 0 else { return }
    for other in max(0, number)..<max(number, Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))) { close(other) }
}

extension ChildProcess {
    /// Takes note of processes that have ended and were not started by this program: in a container, its first process inherits those
    /// whose parents have ended.
    ///
    /// - Parameter own: number of the process whose end is left to `end`; nil without one.
    package static func reapOthers(than own: Int32?) {
        while true {
            let number = clinux_ended_child()
            guard number > 0, number != own else { return }
            waitpid(number, nil, WNOHANG)
        }
    }

    /// A descriptor that is readable when the process has ended (pidfd_open(2), Linux 5.3).
    package func openEnd() throws(SystemError) -> Descriptor {
        Descriptor(try system("pidfd_open") { clinux_pidfd(number) })
    }
}
