import Glibc
import Synchronization
import TransferSystem
import TransferTestSupport

/// Many connections that nobody reads.
///
/// `@unchecked Sendable`: `numbers` is only touched with the lock held.
final class Crowd: @unchecked Sendable {
    let count: Int
    private let address: String
    private let numbers: Locked<[Int32]>

    init(_ count: Int, to address: String) throws {
        AttackScale.raiseDescriptorLimit()
        self.count = count
        self.address = address
        var made: [Int32] = []
        for _ in 0..<count { made.append(try PeerSocket.connected(to: address)) }
        for number in made { _ = fcntl(number, F_SETFL, O_NONBLOCK) }
        numbers = Locked(made)
    }

    deinit {
        numbers.withLock { for number in $0 { close(number) } }
    }

    /// Sends as much as the server takes now.
    func send(_ bytes: [UInt8], from index: Int) {
        let number = numbers.withLock { $0[index] }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Every second sends another byte from every other connection, and puts a new one in the place of each that was
    /// closed.
    func nag(_ bytes: [UInt8]) -> Nagging { Nagging(self, bytes) }

    fileprivate func nag(_ byte: UInt8) {
        numbers.withLock { numbers in
            for index in numbers.indices {
                var byte = byte
                var end = UInt8(0)
                let isClosed = recv(numbers[index], &end, 1, Int32(MSG_DONTWAIT)) >= 0 || errno != EAGAIN
                if isClosed, let another = try? PeerSocket.connected(to: address) {
                    _ = fcntl(another, F_SETFL, O_NONBLOCK)
                    close(numbers[index])
                    numbers[index] = another
                }
                if index.isMultiple(of: 2) { _ = Glibc.send(numbers[index], &byte, 1, Int32(MSG_NOSIGNAL)) }
            }
        }
    }

    /// The thread that does it, until it is told to stop.
    final class Nagging: Sendable {
        private struct State {
            var isOver = false
            var hasEnded = false
        }

        private let monitor = Monitor(State())

        fileprivate init(_ crowd: Crowd, _ bytes: [UInt8]) {
            let body = Body { [monitor] in
                for byte in bytes where !monitor.withLock({ monitor.state.isOver }) {
                    crowd.nag(byte)
                    // The pace is the attack, not something that is waited for.
                    usleep(AttackScale.isFull ? 1_000_000 : 100_000)
                }
                monitor.withLock { monitor.state.hasEnded = true }
                monitor.wakeAll()
            }
            body.start()
        }

        func stop() {
            monitor.withLock {
                monitor.state.isOver = true
                while !monitor.state.hasEnded { monitor.wait() }
            }
        }
    }

    /// A thread that nobody joins.
    private final class Body: Sendable {
        private let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }

        func start() {
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { context in
                    guard let context else { return nil }
                    Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    return nil
                }, Unmanaged.passRetained(self).toOpaque())
            pthread_detach(thread)
        }
    }
}
