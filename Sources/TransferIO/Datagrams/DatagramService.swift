internal import CLinux
import Glibc
package import TransferSystem

/// A thread that hands over datagrams as they come, to several sockets. A flood of them keeps that thread busy and nobody else.
package final class DatagramService: Sendable {
    /// Datagrams that are taken from one socket before another one has its turn.
    private static let mostAtOnce = 64

    /// How long to do nothing when a socket fails, in milliseconds.
    private static let pauseAfterFailure: Int32 = 100

    package let sockets: [DatagramSocket]
    private let wakeup: Descriptor
    /// Whether the thread runs.
    private let isRunning = Monitor(false)

    package init(_ sockets: [DatagramSocket]) throws(SystemError) {
        self.sockets = sockets
        wakeup = Descriptor(try system("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Hands over from now on, once.
    ///
    /// - Parameters:
    ///   - name: of the thread; 15 bytes at most.
    ///   - handle: called on that thread with the socket, what came, and all bytes of it.
    package func run(
        name: String,
        _ handle: @escaping @Sendable (DatagramSocket, DatagramArrival, ArraySlice<UInt8>) -> Void
    ) throws(SystemError) {
        isRunning.withLock { isRunning.state = true }
        do throws(SystemError) {
            try startThread(name: name) { [self] in
                loop(handle)
                // Only the thread that looks at them closes them, so no number is another file's while it does.
                for socket in sockets { socket.close() }
                isRunning.withLock { isRunning.state = false }
                isRunning.wakeAll()
            }
        } catch {
            isRunning.withLock { isRunning.state = false }
            throw error
        }
    }

    /// Ends the thread soon.
    package func stop() {
        var one: UInt64 = 1
        // Fails only when it was told already.
        _ = write(wakeup.number, &one, 8)
    }

    /// Ends the thread and waits for that.
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

    /// - Returns: the sockets that have something; nothing when the thread has to end.
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

    /// - Returns: false when the socket has failed.
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
