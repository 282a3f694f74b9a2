internal import CLinux
import Glibc
import TransferSystem

/// Wakes a thread that waits in poll(2). Any thread may do so.
final class WakeUp: Sendable {
    private let descriptor: Descriptor

    init() throws(SystemError) {
        descriptor = Descriptor(try system("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// Can be read when somebody has called.
    var number: Int32 { descriptor.number }

    func call() {
        var one: UInt64 = 1
        // A counter that is full wakes as well.
        _ = write(number, &one, MemoryLayout<UInt64>.size)
    }

    /// Takes all calls so far.
    func take() {
        var count: UInt64 = 0
        _ = read(number, &count, MemoryLayout<UInt64>.size)
    }
}
