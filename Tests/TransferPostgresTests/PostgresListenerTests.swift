import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// Notifications, also over a restart of the server.
@Suite(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
struct PostgresListenerTests {
    /// The events of a listener, in their order.
    private final class Events: Sendable {
        private let events = Monitor([PostgresListener.Event]())

        func add(_ event: PostgresListener.Event) {
            events.withLock {
                events.state.append(event)
                events.wakeAll()
            }
        }

        /// Waits for an event, and removes it and those before it. Fails after three minutes.
        @discardableResult
        func wait(for isRight: (PostgresListener.Event) -> Bool) -> [PostgresListener.Event] {
            let deadline = monotonicDeadline(after: 180_000_000_000)
            return events.withLock {
                while true {
                    if let index = events.state.firstIndex(where: isRight) {
                        let found = Array(events.state[...index])
                        events.state.removeFirst(index + 1)
                        return found
                    }
                    guard events.wait(until: deadline) else {
                        Issue.record("the event did not happen; there were \(events.state)")
                        return []
                    }
                }
            }
        }

        func wait(for event: PostgresListener.Event) { wait { $0 == event } }

        var count: Int { events.withLock { events.state.count } }
    }

    private func listen(
        _ configuration: PostgresConfiguration, _ channels: [String] = ["news"]
    ) throws -> (listener: PostgresListener, events: Events) {
        let events = Events()
        return (try PostgresListener(configuration, channels: channels) { events.add($0) }, events)
    }

    @Test func notificationsArriveInOrder() throws {
        let server = try PostgresServer.shared.get()
        let configuration = try server.configuration()
        let (listener, events) = try listen(configuration, ["order A", "order B"])
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        events.wait(for: .listening(again: false))
        let long = String(repeating: "ä", count: 3999) + "x"
        try pool.notify("order A", ["1", "", long])
        try pool.notify("order other", ["not ours"])
        try pool.notify("order B", [])
        try pool.notify("order B", ["2"])
        let found = events.wait { $0 == .notification(channel: "order B", payload: "2") }
        #expect(
            found == ["1", "", long].map { .notification(channel: "order A", payload: $0) }
                + [.notification(channel: "order B", payload: "2")])
        listener.close()
        #expect(events.count == 0)
    }

    @Test func notificationsOfATransactionThatIsRolledBackDoNotArrive() throws {
        let configuration = try PostgresServer.shared.get().configuration()
        let (listener, events) = try listen(configuration, ["back"])
        defer { listener.close() }
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        events.wait(for: .listening(again: false))
        let statement = try PostgresStatement.notify("back", ["no"])
        _ = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run(statement)
            throw transaction.givingUp("no")
        }
        try pool.notify("back", ["yes"])
        #expect(events.wait { _ in true } == [.notification(channel: "back", payload: "yes")])
    }

    @Test func valuesThatPostgreSQLRefusesAreNotSent() {
        #expect(throws: PostgresError.self) { try PostgresStatement.notify("", []) }
        #expect(throws: PostgresError.self) { try PostgresStatement.notify("a", [String(repeating: "x", count: 8000)]) }
        #expect(throws: PostgresError.self) { try listen(server().configuration(), ["a\0"]) }
    }

    private func server() throws -> PostgresServer { try PostgresServer.shared.get() }

    @Test func aLostConnectionIsMadeAgainAndReported() throws {
        let server = try PostgresServer()
        let (listener, events) = try listen(try server.configuration())
        events.wait(for: .listening(again: false))
        server.end("QUIT")
        events.wait { if case .interrupted = $0 { true } else { false } }
        try server.start()
        events.wait(for: .listening(again: true))
        try server.run("SELECT pg_notify('news', 'after')")
        events.wait(for: .notification(channel: "news", payload: "after"))
        listener.close()
    }

    /// The listener waits for a server that does not answer.
    @Test func closingEndsTheWaitForAServer() throws {
        let (number, port) = try Loopback.listen()
        defer { close(number) }
        let address = try PostgresAddress("postgres://u@127.0.0.1:\(port)/d?connect_timeout=604800")
        let (listener, events) = try listen(PostgresConfiguration(address))
        close(try system("accept") { accept(number, nil, nil) })
        events.wait { if case .interrupted = $0 { true } else { false } }
        let client = try system("accept") { accept(number, nil, nil) }
        defer { close(client) }
        listener.close()
        #expect(events.count == 0)
    }

    @Test func aHandlerCanClose() throws {
        let configuration = try server().configuration()
        let box = Locked(PostgresListener?.none)
        let isClosed = Monitor(false)
        let listener = try PostgresListener(configuration, channels: ["own"]) { event in
            guard case .notification = event else { return }
            box.withLock { $0 }?.close()
            isClosed.withLock {
                isClosed.state = true
                isClosed.wakeAll()
            }
        }
        box.withLock { $0 = listener }
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        // A notification that comes before the listener is there is lost.
        while !isClosed.withLock({ isClosed.state }) { try pool.notify("own", ["end"]) }
        listener.close()
        box.withLock { $0 = nil }
    }
}
