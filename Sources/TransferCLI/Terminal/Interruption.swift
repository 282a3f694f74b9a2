private import CLinux
private import Glibc
private import Synchronization
private import TransferSystem

/// Calls an action at the first SIGINT or SIGTERM. These signals are blocked in all threads. A second signal ends the
/// process at once.
enum Interruption {
    /// The number of the first signal that arrived; 0 if none has arrived.
    private static let signal = Atomic<Int32>(0)

    /// Whether a signal has arrived.
    static var hasCome: Bool { signal.load(ordering: .relaxed) != 0 }

    /// The action for the first signal. An action that is set later replaces it.
    private static let action = Locked<(@Sendable () -> Void)?>(nil)

    /// Sets the action, which stays until the end of the process or until another one is set. A command with several
    /// steps sets one for each step. If a signal has arrived, each later step is stopped at once.
    static func watch(_ stop: @escaping @Sendable () -> Void) {
        begin({}) { stop() }
    }

    /// Starts work and sets the action that stops it. A signal that arrives during the start stops this work, not the
    /// previous work.
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
        // The thread is never cancelled, because that could unwind it inside the action.
        guard pthread_create(&thread, nil, waitForSignals, nil) == 0 else { return }
        pthread_detach(thread)
    }

    /// From now on, a signal ends the command at once, unless another action is set later. Before this call, code that
    /// asks a question at the terminal handles signals itself, and restores the terminal.
    static func endsAtOnce() {
        watch {
            StandardStream.error.write("transfer: It was stopped.\n")
            end(.uploadsFailed)
        }
    }

    /// Ends the process. If a signal has arrived, the process dies of that signal, as if it had not been caught: only
    /// then does a shell know that the user wants to stop the surrounding loop.
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

    /// A pending signal that no thread has received, for example during a question.
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
    // A second signal ends the process without waiting.
    Interruption.die(of: number)
}
