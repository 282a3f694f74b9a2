import Glibc

/// Nanoseconds since 1970 in UTC (CLOCK_REALTIME, clock_gettime(2)): for people and records. It can jump; what is waited
/// for is measured on the monotonic clock.
package func utcNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
