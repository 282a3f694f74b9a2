import CLinux
import CSpawn
import Glibc
import Synchronization
import TransferSystem
import TransferTestSupport

/// Many connections whose clients read no answers.
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

    /// Sends as many of the bytes as the server takes now.
    func send(_ bytes: [UInt8], from index: Int) {
        let number = numbers.withLock { $0[index] }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Every second sends one more byte on every other connection, and replaces each connection that the server has
    /// closed.
    func nag(_ bytes: [UInt8]) throws -> Nagging { try Nagging(self, bytes) }

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

    /// Nags on a separate thread until `stop`.
    final class Nagging: Sendable {
        /// Milliseconds between two bytes on one connection.
        private static let pace: Int32 = AttackScale.isFull ? 1000 : 100

        private let monitor = Monitor(false)
        /// The two ends of a pipe. Closing the second one ends the thread.
        private let (ending, end): (Int32, Int32)

        fileprivate init(_ crowd: Crowd, _ bytes: [UInt8]) throws {
            var ends: [Int32] = [0, 0]
            try system("pipe") { cspawn_pipe(&ends) }
            (ending, end) = (ends[0], ends[1])
            let body = Body { [monitor, ending] in
                for byte in bytes {
                    crowd.nag(byte)
                    var watched = pollfd(fd: ending, events: Int16(POLLIN), revents: 0)
                    if poll(&watched, 1, Self.pace) != 0 { break }
                }
                monitor.withLock { monitor.state = true }
                monitor.wakeAll()
            }
            body.start()
        }

        deinit { close(ending) }

        func stop() {
            close(end)
            monitor.withLock { while !monitor.state { monitor.wait() } }
        }
    }

    /// A thread that ends without being joined.
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
