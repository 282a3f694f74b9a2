private import CLinux
private import Glibc

/// Calls back at the first SIGINT or SIGTERM, which the process blocks everywhere; a second one ends it at once.
enum Interruption {
    /// Watches to the end of the process. Its thread is not cancelled: that could unwind it inside `action`.
    static func watch(_ action: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Action(action))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, waitForSignals, context.toOpaque()) == 0 else { return context.release() }
        pthread_detach(thread)
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
