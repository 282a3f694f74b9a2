/// A moment in UTC as seconds and nanoseconds since 1970 (POSIX `struct timespec`).
package struct Timestamp: Equatable, Sendable {
    package var seconds: Int64
    /// 0 to 999,999,999.
    package var nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}
