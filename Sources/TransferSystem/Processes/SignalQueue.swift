internal import CLinux
import Glibc

/// Signals that are read from a descriptor instead of interrupting the program. Only for single-threaded programs,
/// because the signals must be blocked in all threads.
package struct SignalQueue: ~Copyable {
    package struct Arrival: Sendable {
        package let number: Int32
        /// Whether a program has sent the signal; false if the kernel did (sigaction(2), si_code).
        package let isSent: Bool
    }

    private let descriptor: Descriptor

    /// Blocks the signals and begins to queue them.
    package init(_ numbers: [Int32]) throws(SystemError) {
        var set = Self.set(numbers)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        descriptor = Descriptor(
            try system("signalfd") { signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)) })
    }

    /// Descriptor that is readable when a signal waits.
    package var number: Int32 { descriptor.number }

    /// - Returns: nil if no signal waits.
    package func next() -> Arrival? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard read(descriptor.number, &info, size) == size else { return nil }
        return Arrival(number: Int32(bitPattern: info.ssi_signo), isSent: info.ssi_code <= 0)
    }

    static func set(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }

    /// Whether the process was started with the signal ignored, as nohup(1) does with SIGHUP.
    package static func isIgnored(_ number: Int32) -> Bool {
        var present = sigaction()
        sigaction(number, nil, &present)
        // SIG_IGN is the address 1 (bits/signum-generic.h).
        return unsafeBitCast(present.__sigaction_handler.sa_handler, to: UInt.self) == 1
    }
}
