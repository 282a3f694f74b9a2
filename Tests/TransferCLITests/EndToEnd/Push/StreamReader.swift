import Glibc

/// Collects the output of a process on one stream immediately, so that the process never blocks.
///
/// `@unchecked Sendable`: the state is only touched with the lock held.
final class StreamReader: @unchecked Sendable {
    private let number: Int32
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var collected: [UInt8] = []
    private var hasEnded = false

    /// - Parameter number: descriptor that the reader owns from now on.
    init(_ number: Int32) throws {
        self.number = number
        lock = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, nil, collect, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw Program.Failure(description: "pthread_create: errno \(code)")
        }
        pthread_detach(thread)
    }

    deinit {
        close(number)
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(lock)
        changed.deallocate()
        lock.deallocate()
    }

    /// Writes to the other side of a terminal.
    func write(_ bytes: [UInt8]) -> Bool { Glibc.write(number, bytes, bytes.count) == bytes.count }

    /// Changes the width of the terminal.
    func resize(columns: UInt16) -> Bool {
        var size: [UInt16] = [24, columns, 0, 0]
        return ioctl(number, UInt(TIOCSWINSZ), &size) == 0
    }

    var bytes: [UInt8] {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return collected
    }

    /// Whether the stream has ended.
    var isOver: Bool {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return hasEnded
    }

    /// - Returns: false if the stream did not end in time.
    func waitForEnd() -> Bool {
        wait { hasEnded in hasEnded }
    }

    /// - Returns: false if the condition did not hold in time, or the stream ended first.
    func wait(for condition: (String) -> Bool) -> Bool {
        wait { hasEnded in hasEnded || condition(String(decoding: collected, as: UTF8.self)) }
            && condition(String(decoding: bytes, as: UTF8.self))
    }

    /// Waits second by second, so that a machine that was suspended for minutes costs only one of the seconds.
    private func wait(until condition: (_ hasEnded: Bool) -> Bool) -> Bool {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        for _ in 0..<Program.patience {
            var deadline = timespec()
            clock_gettime(CLOCK_REALTIME, &deadline)
            deadline.tv_sec += 1
            while !condition(hasEnded), pthread_cond_timedwait(changed, lock, &deadline) == 0 {}
            if condition(hasEnded) { return true }
        }
        return false
    }

    /// Reads to the end, on the reader's thread.
    fileprivate func run() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            pthread_mutex_lock(lock)
            // A read from a terminal whose other side is closed fails with EIO.
            if count > 0 { collected += buffer[..<count] } else { hasEnded = true }
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
            if count <= 0 { return }
        }
    }
}

private func collect(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<StreamReader>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
