internal import CLinux
import Glibc
package import TransferSystem

/// A thread that receives the datagrams of several sockets. If clients flood them, only this thread is busy.
package final class DatagramService: Sendable {
    /// Most datagrams received from one socket before the next one gets a turn.
    private static let mostAtOnce = 64

    /// Milliseconds for which the thread pauses after a socket has failed.
    private static let pauseAfterFailure: Int32 = 100

    package let sockets: [DatagramSocket]
    private let wakeup: Descriptor
    /// Whether the thread is running.
    private let isRunning = Monitor(false)

    package init(_ sockets: [DatagramSocket]) throws(SystemError) {
        self.sockets = sockets
        wakeup = Descriptor(try system("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Starts the thread; to be called once.
    ///
    /// - Parameters:
    ///   - name: name of the thread; at most 15 bytes.
    ///   - handle: called on the thread with the socket, the datagram's metadata, and its bytes.
    package func run(
        name: String,
        _ handle: @escaping @Sendable (DatagramSocket, DatagramArrival, ArraySlice<UInt8>) -> Void
    ) throws(SystemError) {
        isRunning.withLock { isRunning.state = true }
        do throws(SystemError) {
            try startThread(name: name) { [self] in
                loop(handle)
                // Only this thread closes the sockets, so that it never polls a number that now belongs to another
                // file.
                for socket in sockets { socket.close() }
                isRunning.withLock { isRunning.state = false }
                isRunning.wakeAll()
            }
        } catch {
            isRunning.withLock { isRunning.state = false }
            throw error
        }
    }

    /// Asks the thread to end, without waiting.
    package func stop() {
        var one: UInt64 = 1
        // Writing fails only if the counter is full, and then the thread is already notified.
        _ = write(wakeup.number, &one, 8)
    }

    /// Ends the thread and waits until it has ended.
    package func close() {
        stop()
        isRunning.lock()
        while isRunning.state { isRunning.wait() }
        isRunning.unlock()
    }

    private func loop(_ handle: (DatagramSocket, DatagramArrival, ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)
        while let ready = wait() {
            for socket in ready where !drain(socket, &buffer, handle) {
                guard !isTold(within: Self.pauseAfterFailure) else { return }
            }
        }
    }

    /// - Returns: the readable sockets; nil if the thread must end.
    private func wait() -> [DatagramSocket]? {
        let numbers = [wakeup.number] + sockets.map(\.number)
        var waiting = numbers.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&waiting, nfds_t(waiting.count), -1) >= 0 else { return isTold(within: 0) ? nil : [] }
        guard waiting[0].revents == 0 else { return nil }
        return zip(sockets, waiting.dropFirst()).filter { $0.1.revents != 0 }.map(\.0)
    }

    private func isTold(within milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: wakeup.number, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) > 0
    }

    /// - Returns: false if the socket has failed.
    private func drain(
        _ socket: DatagramSocket, _ buffer: inout [UInt8],
        _ handle: (DatagramSocket, DatagramArrival, ArraySlice<UInt8>) -> Void
    ) -> Bool {
        do throws(SystemError) {
            for _ in 0..<Self.mostAtOnce {
                guard let arrival = try socket.receive(into: &buffer) else { return true }
                handle(socket, arrival, buffer[..<arrival.count])
            }
            return true
        } catch {
            return false
        }
    }
}
