private import CLinux
private import Glibc
private import Synchronization

/// Calls back at the first SIGINT or SIGTERM, which the process blocks everywhere; a second one ends it at once.
enum Interruption {
    /// The signal that came first, 0 before.
    private static let signal = Atomic<Int32>(0)

    /// Whether one has come.
    static var hasCome: Bool { signal.load(ordering: .relaxed) != 0 }

    /// Watches to the end of the process. Its thread is not cancelled: that could unwind it inside `action`.
    static func watch(_ action: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Action(action))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, waitForSignals, context.toOpaque()) == 0 else { return context.release() }
        pthread_detach(thread)
    }

    /// Ends the process. Where a signal has stopped its work it dies of that, as if nobody had caught it: only so a shell knows that
    /// its user wants the loop stopped that the command is in.
    static func end(_ code: ExitCode) -> Never {
        if code != .success, let number = taken ?? waiting { die(of: number) }
        _exit(code.rawValue)
    }

    fileprivate static func came(_ number: Int32) {
        _ = signal.compareExchange(expected: 0, desired: number, ordering: .relaxed)
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

private final class Action: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

private func waitForSignals(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let action = Unmanaged<Action>.fromOpaque(context)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGTERM)
    var number: Int32 = 0
    sigwait(&set, &number)
    Interruption.came(number)
    action.takeUnretainedValue().run()
    sigwait(&set, &number)
    // Whoever asks twice does not want to wait for anything.
    Interruption.die(of: number)
}
