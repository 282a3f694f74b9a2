import Glibc
import Synchronization

/// Ends the process when a run does not end, and says which one. A run has one thread, so a lock that it waits for stays held.
enum Hang {
    /// Seconds for a run with all attempts to shorten it. They take seconds on a quiet machine, so that a busy one has time enough.
    private static let limit: UInt32 = 600

    /// The same status as sysexits.h has for an internal error.
    private static let status: Int32 = 70

    private static let seed = Atomic<UInt64>(0)

    /// To be called once.
    static func watch() {
        signal(SIGALRM) { _ in Hang.end() }
    }

    static func begins(_ seed: UInt64) {
        self.seed.store(seed, ordering: .relaxed)
        alarm(limit)
    }

    /// Runs in a signal handler, so nothing here asks for memory.
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

/// SIGINT and SIGTERM end the process behind the run that is being played, so that its directory in memory goes with it.
enum Stop {
    private static let isWanted = Atomic<Bool>(false)

    static var isAsked: Bool { isWanted.load(ordering: .relaxed) }

    /// To be called once.
    static func watch() {
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in Stop.isWanted.store(true, ordering: .relaxed) }
        }
    }
}
