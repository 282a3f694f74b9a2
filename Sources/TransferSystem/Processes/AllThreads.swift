internal import CLinux
import Glibc

/// Confines every thread of the process. Landlock and `no_new_privs` apply only to the calling thread and to threads
/// that it starts later, and a server has many threads when it has opened everything.
enum AllThreads {
    /// Allows one call at a time, because all threads write their answers to one shared variable.
    private static let lock = Locked(())

    /// Most nanoseconds that a thread may take to answer, because it may be waiting for a disk.
    private static let patience: Int64 = 5_000_000_000

    /// - Parameter ruleset: descriptor of Landlock's rules, or -1 for `no_new_privs` only.
    /// - Throws: the error of a thread, or ETIMEDOUT.
    static func confine(_ ruleset: Int32) throws(SystemError) {
        try lock.withLock { _ throws(SystemError) in
            var before = sigaction()
            try system("sigaction") { clinux_prepare_confinement(ruleset, &before) }
            // If this throws, the handler stays installed: without it, a thread that handles the signal late would end
            // the process.
            try confineOthers()
            try system("landlock_restrict_self") { clinux_confine_thread(ruleset) }
            try system("sigaction") { sigaction(SIGSYS, &before, nil) }
        }
    }

    /// Repeats until no new thread is found, because threads that are not yet confined can start others.
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
            // The thread has ended.
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
