private import CLinux
private import Glibc
private import Synchronization
private import TransferSystem

/// Calls back at the first SIGINT or SIGTERM, which the process blocks everywhere; a second one ends it at once.
enum Interruption {
    /// The signal that came first, 0 before.
    private static let signal = Atomic<Int32>(0)

    /// Whether one has come.
    static var hasCome: Bool { signal.load(ordering: .relaxed) != 0 }

    /// What is to be done at the first one; what was asked for last.
    private static let action = Locked<(@Sendable () -> Void)?>(nil)

    /// Watches to the end of the process. Of a command that does one thing after the other, the one is stopped that it is at; once
    /// a signal has come, each that follows at once.
    static func watch(_ stop: @escaping @Sendable () -> Void) {
        begin({}) { stop() }
    }

    /// The same for what is only begun here: a signal that comes meanwhile stops it, and not what was there before.
    @discardableResult
    static func begin<Work: Sendable>(_ start: () -> Work, stop: @escaping @Sendable (Work) -> Void) -> Work {
        let (work, isFirst) = action.withLock { action in
            let (work, isFirst) = (start(), action == nil)
            action = { stop(work) }
            return (work, isFirst)
        }
        if isFirst { wait() } else if hasCome { stop(work) }
        return work
    }

    private static func wait() {
        var thread = pthread_t()
        // Nobody cancels it: that could unwind it inside the action.
        guard pthread_create(&thread, nil, waitForSignals, nil) == 0 else { return }
        pthread_detach(thread)
    }

    /// From here on a signal ends the command at once, unless it says later what is to be done at one. Before, whoever asks a
    /// question at the terminal sees to that, and to the terminal.
    static func endsAtOnce() {
        watch {
            StandardStream.error.write("transfer: It was stopped.\n")
            end(.uploadsFailed)
        }
    }

    /// Ends the process. Where a signal has stopped its work it dies of that, as if nobody had caught it: only so a shell knows that
    /// its user wants the loop stopped that the command is in.
    static func end(_ code: ExitCode) -> Never {
        if code != .success, let number = taken ?? waiting { die(of: number) }
        _exit(code.rawValue)
    }

    fileprivate static func came(_ number: Int32) {
        _ = signal.compareExchange(expected: 0, desired: number, ordering: .relaxed)
        action.withLock { $0 }?()
    }

    private static var taken: Int32? {
        let number = signal.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// One that nobody has waited for, but that has been noticed, as while a question is asked.
    private static var waiting: Int32? {
        var set = sigset_t()
        sigemptyset(&set)
        sigpending(&set)
        return [SIGINT, SIGTERM].first { sigismember(&set, $0) == 1 }
    }

    fileprivate static func die(of number: Int32) -> Never {
        Glibc.signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        _exit(128 + number)
    }
}

private func waitForSignals(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGTERM)
    var number: Int32 = 0
    sigwait(&set, &number)
    Interruption.came(number)
    sigwait(&set, &number)
    // Whoever asks twice does not want to wait for anything.
    Interruption.die(of: number)
}
