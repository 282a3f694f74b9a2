import Glibc

/// Nanoseconds on CLOCK_MONOTONIC (clock_gettime(2)).
package func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Seconds since the kernel was started, those in which it was suspended included (CLOCK_BOOTTIME, clock_gettime(2)).
package func secondsSinceBoot() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec)
}

/// The moment `nanoseconds` from now on the same clock; the last one there is when that is too far away to be told.
package func monotonicDeadline(after nanoseconds: Int64) -> Int64 {
    let (deadline, overflow) = monotonicNanoseconds().addingReportingOverflow(nanoseconds)
    return overflow ? .max : deadline
}

/// Nanoseconds since 1970 in UTC (CLOCK_REALTIME, clock_gettime(2)): for people and records. It can jump; what is waited
/// for is measured on the monotonic clock.
package func utcNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Nanoseconds that the calling thread has had a processor for (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)).
package func threadNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
