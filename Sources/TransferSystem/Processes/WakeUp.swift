internal import CLinux
import Glibc

/// Wakes a thread that waits in poll(2). Any thread may call it.
package final class WakeUp: Sendable {
    private let descriptor: Descriptor

    package init() throws(SystemError) {
        descriptor = Descriptor(try system("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// The descriptor, which is readable after a call.
    package var number: Int32 { descriptor.number }

    package func call() {
        var one: UInt64 = 1
        // If the counter is full, the thread wakes anyway.
        _ = write(number, &one, MemoryLayout<UInt64>.size)
    }

    /// Resets all calls so far.
    package func take() {
        var count: UInt64 = 0
        _ = read(number, &count, MemoryLayout<UInt64>.size)
    }
}
