import Glibc

/// Priorities of threads, in levels of nice(2).
enum ThreadPriority {
    /// Levels below the usual priority. A thread that is ten levels below another one gets a tenth of its time on the same processor
    /// (sched(7), the weights of the levels).
    private static let levels: Int32 = 10

    /// The least priority (setpriority(2)).
    private static let least: Int32 = 19

    private static let kind = __priority_which_t(PRIO_PROCESS.rawValue)

    /// Of the calling thread. The threads that it starts inherit it.
    static var current: Int32 { getpriority(kind, 0) }

    /// Lowers that of the calling thread, for good: to have it back takes a privilege (setpriority(2)).
    static func lower() {
        // About a process 0 the call is about the calling thread alone.
        setpriority(kind, 0, min(current + levels, least))
    }
}
