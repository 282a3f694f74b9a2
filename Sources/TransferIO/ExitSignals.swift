internal import CLinux
import Glibc
package import TransferSystem

/// SIGTERM and SIGINT, received on a loop instead of ending the process.
package final class ExitSignals: ReadinessHandler {
    /// Fires at each of them.
    package let arrived = Signal()

    private let loop: EventLoop
    private let number: Int32
    private var registration: Registration?

    /// Keeps the signals from ending the process. Call it first thing in `main`: threads inherit it.
    package static func block() {
        var set = signalSet()
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// The caller is isolated to the loop.
    package init(loop: EventLoop) throws(SystemError) {
        var set = Self.signalSet()
        let descriptor = Descriptor(
            try system("signalfd") { signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)) })
        self.loop = loop
        number = descriptor.number
        registration = nil
        registration = try loop.register(number, self)
        _ = descriptor.release()
    }

    package func close() {
        guard let registration else { return }
        self.registration = nil
        loop.deregister(registration)
        Glibc.close(number)
    }

    func ready(_ readiness: Readiness) {
        var info = signalfd_siginfo()
        while read(number, &info, MemoryLayout<signalfd_siginfo>.size) > 0 { arrived.fire() }
    }

    private static func signalSet() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }
}
