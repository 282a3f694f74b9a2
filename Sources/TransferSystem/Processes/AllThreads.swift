internal import CLinux
import Glibc

/// Lets every thread of the process confine itself: Landlock and `no_new_privs` belong to a thread and those that it
/// starts, and by the time that a server has opened everything it has many.
enum AllThreads {
    /// One call at a time: what threads answer is kept in one place.
    private static let lock = Locked(())

    /// How long a thread may take to answer, in nanoseconds: it may be waiting for a disk.
    private static let patience: Int64 = 5_000_000_000

    /// - Parameter ruleset: of Landlock, or -1 for `no_new_privs` alone.
    /// - Throws: what a thread said, or ETIMEDOUT.
    static func confine(_ ruleset: Int32) throws(SystemError) {
        try lock.withLock { _ throws(SystemError) in
            var before = sigaction()
            try system("sigaction") { clinux_prepare_confinement(ruleset, &before) }
            // Where this throws the handler stays: a thread that is asked and answers late would end the process.
            try confineOthers()
            try system("landlock_restrict_self") { clinux_confine_thread(ruleset) }
            try system("sigaction") { sigaction(SIGSYS, &before, nil) }
        }
    }

    /// Until a look at all threads finds no new one: those that aren't confined yet can start others that aren't.
    private static func confineOthers() throws(SystemError) {
        guard let threads = opendir("/proc/self/task") else { throw SystemError(errno: errno, call: "opendir") }
        defer { closedir(threads) }
        var confined: Set<Int32> = [clinux_thread()]
        var isNew = true
        while isNew {
            isNew = false
            rewinddir(threads)
            while let thread = nextThread(threads) {
                guard confined.insert(thread).inserted else { continue }
                isNew = true
                try confine(thread: thread)
            }
        }
    }

    private static func nextThread(_ threads: OpaquePointer) -> Int32? {
        while let entry = readdir(threads) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let thread = Int32(name) { return thread }
        }
        return nil
    }

    private static func confine(thread: Int32) throws(SystemError) {
        guard clinux_ask_for_confinement(getpid(), thread) == 0 else {
            // It has ended.
            guard errno == ESRCH else { throw SystemError(errno: errno, call: "tgkill") }
            return
        }
        let end = monotonicDeadline(after: patience)
        while true {
            let reply = clinux_confinement_reply()
            if reply > 0 { return }
            if reply < 0 { throw SystemError(errno: -reply, call: "landlock_restrict_self") }
            guard isAlive(thread) else { return }
            guard monotonicNanoseconds() < end else { throw SystemError(errno: ETIMEDOUT, call: "tgkill") }
            usleep(50)
        }
    }

    private static func isAlive(_ thread: Int32) -> Bool {
        access("/proc/self/task/\(thread)", F_OK) == 0
    }
}
