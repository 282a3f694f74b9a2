internal import CLinux
import Glibc
package import TransferSystem

/// SIGTERM and SIGINT, and SIGHUP for those who want it, received on a loop instead of ending the process.
package final class ExitSignals: ReadinessHandler {
    /// Fires at each of them that asks for the end.
    package let arrived = Signal()

    /// Fires when a program has sent SIGHUP, by which services are asked to read their files again. That of a terminal which
    /// hangs up asks for the end, unless it is to be ignored, as nohup(1) has it.
    package let reload = Signal()

    private let loop: EventLoop
    private let number: Int32
    private var registration: Registration?

    /// Keeps the signals from ending the process. Call it first thing in `main`: threads inherit it.
    ///
    /// - Parameter hangUp: whether SIGHUP is one of them.
    package static func block(hangUp: Bool = false) {
        var set = signalSet(hangUp: hangUp)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// The caller is isolated to the loop.
    ///
    /// - Parameter hangUp: whether SIGHUP is one of them.
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
        // What the kernel sends has a code above zero (sigaction(2), si_code).
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
