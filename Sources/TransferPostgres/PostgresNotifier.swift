import TransferIO
import TransferSystem

/// Notifies a channel of a database by a separate thread, after the commits that the notifications are about.
///
/// A notification in the transaction itself locks out the commits of all servers until the commit is on disk and on the standbys: 16
/// connections then make 300 to 1,200 commits a second instead of 3,200 to 4,300 (PostgreSQL 15). Here one transaction of this server
/// carries all notifications of an interval.
package final class PostgresNotifier: Sendable {
    private let notifying: PostgresNotifying

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - interval: least nanoseconds between two transactions.
    ///   - pause: nanoseconds between two calls of `remind`.
    ///   - remind: called on the thread, again and again, also while nothing is notified.
    ///   - payloads: called on the thread for each transaction. Its argument is whether the last transaction has failed, so that its payloads
    ///     may be lost.
    /// - Throws: `bug` for a channel that cannot be a name, `full` if no thread can be started.
    package init(
        _ pool: PostgresPool, channel: String, interval: Int64, pause: Int64,
        payloads: @escaping @Sendable (_ hasFailed: Bool) -> [String], remind: @escaping @Sendable () -> Void
    ) throws(PostgresError) {
        _ = try PostgresStatement.notify(channel, [])
        notifying = PostgresNotifying(
            pool: pool, channel: channel, interval: interval, pause: pause, payloads: payloads, remind: remind)
        do throws(SystemError) {
            try startThread(name: "database calls") { [notifying] in notifying.run() }
        } catch {
            throw PostgresError(.full, "The server cannot notify others by the database: \(error.description).")
        }
    }

    deinit {
        notifying.end()
    }

    /// Lets the thread notify, soon. Does not wait.
    package func wake() { notifying.wake() }

    /// Notifies what is still to be notified, if the database answers, and ends the thread.
    package func close() { notifying.close() }
}

/// The work of a notifier's thread, which does not keep the notifier itself alive.
private final class PostgresNotifying: Sendable {
    private struct State {
        var isWoken = false
        var isClosed = false
        var hasEnded = false
    }

    private enum Turn { case notify, remind, end }

    /// Nanoseconds before another attempt, while the database cannot be reached.
    private static let retryPause: Int64 = 1_000_000_000

    /// Nanoseconds for the last transaction, which delays the end of the server.
    private static let lastPatience: Int64 = 2_000_000_000

    private let pool: PostgresPool
    private let channel: String
    private let interval: Int64
    private let pause: Int64
    private let payloads: @Sendable (Bool) -> [String]
    private let remind: @Sendable () -> Void
    private let monitor = Monitor(State())

    init(
        pool: PostgresPool, channel: String, interval: Int64, pause: Int64,
        payloads: @escaping @Sendable (Bool) -> [String], remind: @escaping @Sendable () -> Void
    ) {
        (self.pool, self.channel, self.interval, self.pause) = (pool, channel, interval, pause)
        (self.payloads, self.remind) = (payloads, remind)
    }

    func wake() { change { $0.isWoken = true } }

    func end() { change { $0.isClosed = true } }

    func close() {
        end()
        monitor.withLock { while !monitor.state.hasEnded { monitor.wait() } }
    }

    private func change(_ body: (inout State) -> Void) {
        monitor.withLock {
            body(&monitor.state)
            monitor.wakeAll()
        }
    }

    func run() {
        var next = monotonicNanoseconds()
        var reminding = monotonicDeadline(after: pause)
        var hasFailed = false
        loop: while true {
            switch turn(from: next, reminding: reminding) {
            case .end: break loop
            case .remind:
                remind()
                reminding = monotonicDeadline(after: pause)
            case .notify:
                hasFailed = !notify(payloads(hasFailed))
                if hasFailed { wake() }
                next = monotonicDeadline(after: hasFailed ? Self.retryPause : interval)
            }
        }
        change { $0.hasEnded = true }
    }

    /// Waits for the next turn. A closed notifier has one more turn if it was woken, unless that fails.
    private func turn(from next: Int64, reminding: Int64) -> Turn {
        monitor.withLock {
            while true {
                let now = monotonicNanoseconds()
                if !monitor.state.isClosed, now >= reminding { return .remind }
                if monitor.state.isWoken, monitor.state.isClosed || now >= next {
                    monitor.state.isWoken = false
                    return .notify
                }
                if monitor.state.isClosed { return .end }
                _ = monitor.wait(until: monitor.state.isWoken ? min(next, reminding) : reminding)
            }
        }
    }

    /// - Returns: false if other servers may not learn it.
    private func notify(_ payloads: [String]) -> Bool {
        guard !payloads.isEmpty else { return true }
        let isLast = monitor.withLock { monitor.state.isClosed }
        do throws(PostgresError) {
            try pool.notify(channel, payloads, within: isLast ? Self.lastPatience : nil)
            return true
        } catch {
            return isLast
        }
    }
}
