import Glibc
import TransferIO
import TransferSystem

/// Listens to channels of a database (LISTEN, NOTIFY) with a separate connection and thread, and connects again
/// after every loss.
///
/// Notifications are hints: they are lost while there is no connection. The handler learns when that may have happened.
package final class PostgresListener: Sendable {
    /// An event, in the order in which they happen.
    package enum Event: Equatable, Sendable {
        /// All notifications from now on will be received. `again`: those since the last `interrupted` are lost.
        case listening(again: Bool)
        case notification(channel: String, payload: String)
        /// The connection was lost, or could not be made; another attempt follows.
        case interrupted(PostgresError)
    }

    private let listening: PostgresListening

    /// Starts the thread, which connects.
    ///
    /// - Parameter handler: called on the listener's thread for each event, one at a time. While it runs, the server
    ///   keeps further notifications, so it has to be short.
    /// - Throws: `missingLibrary`, `bug` for a channel that cannot be a name, `full` if no thread can be started.
    package init(
        _ configuration: PostgresConfiguration, channels: [String], library: PostgresLibrary? = nil,
        counters: PostgresCounters = PostgresCounters(), _ handler: @escaping @Sendable (Event) -> Void
    ) throws(PostgresError) {
        var statements: [PostgresStatement] = []
        for channel in channels {
            statements.append(PostgresStatement("LISTEN \(try PostgresStatement.quoted(channel))"))
        }
        let library = try PostgresLibrary.require(library)
        do throws(SystemError) {
            listening = PostgresListening(
                PostgresConnector(configuration, library: library, counters: counters), statements, handler,
                try WakeUp())
            let listening = listening
            try startThread(name: "database news") { listening.run() }
        } catch {
            throw PostgresError(.full, "The server cannot listen to the database: \(error.description).")
        }
    }

    deinit {
        listening.wakeUp.call()
    }

    /// Ends the connection and waits for the thread, so that the handler is not called any more. Only the resolution of
    /// a host's name can delay it. A handler may call this; it then returns at once.
    package func close() {
        listening.close()
    }
}

/// The work of a listener's thread, which does not keep the listener itself alive.
private final class PostgresListening: Sendable {
    /// Pauses between attempts to connect, in nanoseconds. The first one is short, because a restarted server is there
    /// after a second; the longest one is short compared with the polling that notifications replace.
    private static let firstPause: Int64 = 50_000_000
    private static let longestPause: Int64 = 5_000_000_000

    let wakeUp: WakeUp
    private let connector: PostgresConnector
    private let statements: [PostgresStatement]
    private let handler: @Sendable (PostgresListener.Event) -> Void
    private let monitor = Monitor(State.running(nil))

    private enum State {
        /// With the thread, once it runs.
        case running(pthread_t?)
        case ended
    }

    init(
        _ connector: PostgresConnector, _ statements: [PostgresStatement],
        _ handler: @escaping @Sendable (PostgresListener.Event) -> Void, _ wakeUp: WakeUp
    ) {
        (self.connector, self.statements, self.handler, self.wakeUp) = (connector, statements, handler, wakeUp)
    }

    func close() {
        wakeUp.call()
        monitor.withLock {
            while case .running(let thread) = monitor.state {
                if let thread, pthread_equal(thread, pthread_self()) != 0 { return }
                monitor.wait()
            }
        }
    }

    func run() {
        monitor.withLock { monitor.state = .running(pthread_self()) }
        var pause = Self.firstPause
        var random = SecureRandom()
        var wasListening = false
        while true {
            let (error, didListen) = listen(again: wasListening)
            if error.reason == .closed { break }
            if didListen { (pause, wasListening) = (Self.firstPause, true) }
            handler(.interrupted(error))
            guard sleep(Int64.random(in: pause / 2...pause, using: &random)) else { break }
            pause = min(Self.longestPause, 2 * pause)
        }
        monitor.withLock {
            monitor.state = .ended
            monitor.wakeAll()
        }
    }

    /// Connects and listens until the connection ends.
    ///
    /// - Returns: the error that ended it, and whether it had listened before.
    private func listen(again: Bool) -> (error: PostgresError, didListen: Bool) {
        var didListen = false
        do throws(PostgresError) {
            let deadline = monotonicDeadline(after: connector.configuration.patience)
            let (connection, _) = try connector.connect(until: deadline, interrupt: wakeUp)
            _ = try connection.run(statements, until: deadline)
            didListen = true
            handler(.listening(again: again))
            while true {
                // Notifications may have arrived with the answers to LISTEN.
                for (channel, payload) in try connection.takeNotifications() {
                    handler(.notification(channel: channel, payload: payload))
                }
                try connection.wait(Int16(POLLIN), until: nil)
            }
        } catch {
            return (error, didListen)
        }
    }

    /// - Returns: false if the listener is closed meanwhile.
    private func sleep(_ nanoseconds: Int64) -> Bool {
        var polled = pollfd(fd: wakeUp.number, events: Int16(POLLIN), revents: 0)
        let count = try? system("poll") { poll(&polled, 1, Int32(clamping: nanoseconds / 1_000_000)) }
        return count == 0
    }
}

extension PostgresStatement {
    /// The statement that notifies a channel. Listeners receive the notifications when the transaction commits, equal
    /// ones once.
    ///
    /// - Throws: `bug` for a channel or a payload that PostgreSQL refuses.
    package static func notify(_ channel: String, _ payloads: [String]) throws(PostgresError) -> PostgresStatement {
        _ = try quoted(channel)
        if let long = payloads.first(where: { $0.utf8.count > PostgresLimits.payloadSize }) {
            throw PostgresError(.bug, "A notification has \(long.utf8.count) bytes; PostgreSQL takes 7999.")
        }
        return PostgresStatement(
            "SELECT count(pg_notify($1, payload)) FROM unnest($2) AS payload", [.text(channel), .texts(payloads)])
    }
}
