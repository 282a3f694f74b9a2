import Glibc

/// The present time in nanoseconds of CLOCK_MONOTONIC (clock_gettime(2)).
package func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Seconds since the kernel was started, including suspension (CLOCK_BOOTTIME, clock_gettime(2)).
package func secondsSinceBoot() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec)
}

/// The time `nanoseconds` from now on the monotonic clock; the last possible time if that overflows.
package func monotonicDeadline(after nanoseconds: Int64) -> Int64 {
    let (deadline, overflow) = monotonicNanoseconds().addingReportingOverflow(nanoseconds)
    return overflow ? .max : deadline
}

/// Nanoseconds since 1970 in UTC (CLOCK_REALTIME, clock_gettime(2)), for users and records. It can jump; timeouts use
/// the monotonic clock.
package func utcNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Processor time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)).
package func threadNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
