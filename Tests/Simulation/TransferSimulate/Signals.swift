import Glibc
import Synchronization

/// Ends the process when a run does not end, and prints the seed of that run. A run has one thread, so a lock that the
/// thread waits for stays held.
enum Hang {
    /// Seconds that a run may take, including all attempts to shorten it. A quiet machine needs a few seconds, so this
    /// is enough for a busy one.
    private static let limit: UInt32 = 600

    /// Exit status of sysexits.h for an internal error.
    private static let status: Int32 = 70

    private static let seed = Atomic<UInt64>(0)

    /// Call this once, before the first run.
    static func watch() {
        signal(SIGALRM) { _ in Hang.end() }
    }

    static func begins(_ seed: UInt64) {
        self.seed.store(seed, ordering: .relaxed)
        alarm(limit)
    }

    /// This runs in a signal handler, so it must not allocate memory.
    private static func end() {
        let digits = 20
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: digits) { text in
            var (rest, start) = (seed.load(ordering: .relaxed), digits)
            repeat {
                start -= 1
                text[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            let words: StaticString = "transfer-simulate: this run does not end: seed "
            _ = write(STDOUT_FILENO, words.utf8Start, words.utf8CodeUnitCount)
            _ = write(STDOUT_FILENO, text.baseAddress.map { $0 + start }, digits - start)
            _ = write(STDOUT_FILENO, "\n", 1)
        }
        _exit(status)
    }
}

/// SIGINT and SIGTERM end the process after the present run, so that the run can remove its directory in memory.
enum Stop {
    private static let isWanted = Atomic<Bool>(false)

    static var isAsked: Bool { isWanted.load(ordering: .relaxed) }

    /// Call this once, before the first run.
    static func watch() {
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in Stop.isWanted.store(true, ordering: .relaxed) }
        }
    }
}
