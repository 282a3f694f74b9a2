internal import CLinux
import Glibc
package import TransferSystem

/// Receives SIGTERM and SIGINT, and SIGHUP on request, on a loop, so that these signals do not end the process.
package final class ExitSignals: ReadinessHandler {
    /// Fires at each signal that asks the process to end.
    package let arrived = Signal()

    /// Fires if a program has sent SIGHUP, which asks a service to reload its files. SIGHUP from a closing terminal
    /// asks the process to end, unless it is ignored, as under nohup(1).
    package let reload = Signal()

    private let loop: EventLoop
    private let number: Int32
    private var registration: Registration?

    /// Blocks the signals. Must be called first in `main`, because threads inherit the mask.
    ///
    /// - Parameter hangUp: whether SIGHUP is included.
    package static func block(hangUp: Bool = false) {
        var set = signalSet(hangUp: hangUp)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Begins to receive the signals. The caller must be isolated to the loop.
    ///
    /// - Parameter hangUp: whether SIGHUP is included.
    package init(loop: EventLoop, hangUp: Bool = false) throws(SystemError) {
        var set = Self.signalSet(hangUp: hangUp)
        let descriptor = Descriptor(
            try system("signalfd") { signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)) })
        self.loop = loop
        number = descriptor.number
        registration = nil
        registration = try loop.register(number, for: .input, self)
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
        while read(number, &info, MemoryLayout<signalfd_siginfo>.size) > 0 { received(info) }
    }

    private func received(_ info: signalfd_siginfo) {
        // Signals from the kernel have a code above zero (sigaction(2), si_code).
        switch (Int32(bitPattern: info.ssi_signo), info.ssi_code <= 0) {
        case (SIGHUP, true): reload.fire()
        case (SIGHUP, false): if !SignalQueue.isIgnored(SIGHUP) { arrived.fire() }
        default: arrived.fire()
        }
    }

    private static func signalSet(hangUp: Bool) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        if hangUp { sigaddset(&set, SIGHUP) }
        return set
    }
}
