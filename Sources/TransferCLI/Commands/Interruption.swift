private import Glibc

/// Calls back at the first SIGINT or SIGTERM, which the process blocks everywhere; a second one ends it at once.
struct Interruption {
    private let thread: pthread_t?

    init(_ action: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Action(action))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, waitForSignals, context.toOpaque())
        if code != 0 { context.release() }
        self.thread = code == 0 ? thread : nil
    }

    /// The signals are no longer waited for.
    func stop() {
        guard let thread else { return }
        pthread_cancel(thread)
        pthread_join(thread, nil)
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
    action.takeUnretainedValue().run()
    sigwait(&set, &number)
    // Whoever asks twice does not want to wait for anything.
    _exit(128 + number)
}
