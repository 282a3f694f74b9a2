import TransferSystem

/// Connections with a database, and transactions on them, for calls of any thread.
///
/// A call takes a connection, waits in line if the limit is reached, and brings it back. Connections that fail are
/// closed; the next call makes another one with the host that is the primary then.
///
/// `Sendable`: connections are in `idle`, in one waiter, or with one call, and pass between threads under the lock.
package final class PostgresPool: Sendable {
    package let configuration: PostgresConfiguration
    package let counters: PostgresCounters
    private let connector: PostgresConnector
    private let monitor = Monitor(State())

    private struct State {
        /// The connection that was used last is at the end and is used first.
        var idle: [PostgresConnection] = []
        /// Connections that are idle, in use or being made.
        var count = 0
        /// Calls that wait for a connection, the first one first.
        var waiters: [Waiter] = []
        var isClosed = false
        var term = 0
        var facts: PostgresServerFacts?
        var reported: Set<PostgresRemark> = []
        var remarks: [PostgresRemark] = []
    }

    /// A call that waits, and what it gets. Its monitor is locked within that of the pool.
    private final class Waiter {
        let grant = Monitor(Grant?.none)
    }

    private enum Grant {
        case connection(PostgresConnection)
        /// The right to make a connection.
        case place
        case closed
    }

    /// - Throws: `missingLibrary`. The server is not asked for anything yet.
    package init(
        _ configuration: PostgresConfiguration, library: PostgresLibrary? = nil,
        counters: PostgresCounters = PostgresCounters()
    ) throws(PostgresError) {
        (self.configuration, self.counters) = (configuration, counters)
        let library = try PostgresLibrary.require(library)
        connector = PostgresConnector(configuration, library: library, counters: counters)
    }

    deinit {
        close()
    }

    /// Closes idle connections now and the others when they are brought back. Calls that wait get `closed`.
    package func close() {
        let idle = monitor.withLock {
            let (waiters, idle) = (monitor.state.waiters, monitor.state.idle)
            monitor.state.isClosed = true
            (monitor.state.waiters, monitor.state.idle) = ([], [])
            monitor.state.count -= idle.count
            for waiter in waiters { Self.give(waiter, .closed) }
            monitor.wakeAll()
            return idle
        }
        // Closing a connection writes to its socket, which needs no lock.
        _ = consume idle
    }

    /// Connects if no connection is idle, and examines the server.
    ///
    /// - Parameter time: nanoseconds that the call may take; nil for the configured patience.
    package func examine(within time: Int64? = nil) throws(PostgresError) -> PostgresServerFacts {
        let connection = try take(until: monotonicDeadline(after: time ?? configuration.patience))
        bring(connection)
        guard let facts = monitor.withLock({ monitor.state.facts }) else { throw Self.closed }
        return facts
    }

    /// A number that grows when a connection is made with another primary than before: what was read before a fail-over
    /// may be lost. A call that begins in a term uses no connection of an earlier term.
    package var term: Int { monitor.withLock { monitor.state.term } }

    /// The number of calls that wait for a connection.
    package var waiting: Int { monitor.withLock { monitor.state.waiters.count } }

    /// Takes the remarks about servers that have not been taken yet, for the log.
    package func takeRemarks() -> [PostgresRemark] {
        monitor.withLock {
            let remarks = monitor.state.remarks
            monitor.state.remarks = []
            return remarks
        }
    }

    private static let closed = PostgresError(.closed, "The connections with the database are closed.")
}

// MARK: Transactions

extension PostgresPool {
    /// Performs a transaction. It is repeated, with `body` called again, if the server asks for it (40001, 40P01), and,
    /// as long as there is time, if the connection fails before COMMIT was sent or the server is no primary any more.
    ///
    /// - Parameters:
    ///   - time: nanoseconds that the call may take; nil for the configured patience. A commit that is not answered in
    ///     that time is unknown.
    ///   - body: the statements. It runs on the calling thread and must have no effect besides, or one that may be
    ///     repeated.
    package func transaction<Value>(
        _ isolation: PostgresIsolation = .readCommitted, within time: Int64? = nil,
        _ body: (PostgresTransaction) throws(PostgresError) -> Value
    ) -> PostgresOutcome<Value> {
        repeating(isolation, isReadOnly: false, time, body)
    }

    /// Performs a transaction that only reads, and repeats it as `transaction` does.
    package func read<Value>(
        _ isolation: PostgresIsolation = .readCommitted, within time: Int64? = nil,
        _ body: (PostgresTransaction) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        switch repeating(isolation, isReadOnly: true, time, body) {
        case .committed(let value): return value
        case .rolledBack(let error), .unknown(let error): throw error
        }
    }

    /// Waits until all that was committed before this call is on the standbys that a commit waits for: commits a
    /// message in the log, because a commit that changes nothing does not wait.
    ///
    /// - Parameters:
    ///   - term: the term in which the caller has read what it waits for; nil if it has read nothing.
    ///   - time: nanoseconds that the call may take; nil for the configured patience.
    /// - Throws: also if the wait was cancelled; `unavailable` in a later term.
    package func barrier(of term: Int? = nil, within time: Int64? = nil) throws(PostgresError) {
        let message = PostgresStatement("SELECT pg_logical_emit_message(true, 'transfer', '') IS NULL")
        let outcome = transaction(within: time) { (transaction) throws(PostgresError) in
            _ = try transaction.finish([message])
        }
        switch outcome {
        case .committed:
            guard term ?? self.term == self.term else {
                throw PostgresError(.unavailable, "Another server has become the primary of the database. Try again.")
            }
        case .rolledBack(let error), .unknown(let error): throw error
        }
    }

    /// Notifies the listeners of a channel, in one transaction.
    package func notify(_ channel: String, _ payloads: [String], within time: Int64? = nil) throws(PostgresError) {
        let statement = try PostgresStatement.notify(channel, payloads)
        let outcome = transaction(within: time) { (transaction) throws(PostgresError) in
            _ = try transaction.finish([statement])
        }
        switch outcome {
        case .committed: return
        case .rolledBack(let error), .unknown(let error): throw error
        }
    }

    private func repeating<Value>(
        _ isolation: PostgresIsolation, isReadOnly: Bool, _ time: Int64?,
        _ body: (PostgresTransaction) throws(PostgresError) -> Value
    ) -> PostgresOutcome<Value> {
        let deadline = monotonicDeadline(after: time ?? configuration.patience)
        var attempts = PostgresAttempts(configuration, isReadOnly: isReadOnly)
        while true {
            let outcome = attempt(isolation, isReadOnly: isReadOnly, deadline, body)
            guard case .rolledBack(let error) = outcome else { return outcome }
            guard let pause = attempts.pause(after: error, until: deadline) else {
                return .rolledBack(attempts.telling(error))
            }
            guard sleep(until: monotonicDeadline(after: pause)) else { return .rolledBack(Self.closed) }
            counters.retries.add()
        }
    }

    private func attempt<Value>(
        _ isolation: PostgresIsolation, isReadOnly: Bool, _ deadline: Int64,
        _ body: (PostgresTransaction) throws(PostgresError) -> Value
    ) -> PostgresOutcome<Value> {
        let connection: PostgresConnection
        do throws(PostgresError) { connection = try take(until: deadline) } catch { return .rolledBack(error) }
        let transaction = PostgresTransaction(
            on: connection, isolation, isReadOnly: isReadOnly, counters: counters, deadline: deadline)
        let ending: PostgresTransaction.Ending
        var result: Value?
        do throws(PostgresError) {
            result = try body(transaction)
            ending = transaction.commit()
        } catch {
            ending = transaction.abandon(error)
        }
        if case .rolledBack(let error) = ending, error.endsConnection, !(isReadOnly && error.reason == .readOnly) {
            connection.fail(error)
        }
        bring(connection)
        switch ending {
        case .rolledBack(let error): return .rolledBack(error)
        case .unknown(let error): return .unknown(error)
        case .committed:
            guard let result else { return .unknown(.violation("a transaction has no result")) }
            return .committed(result)
        }
    }

    /// - Returns: false if the pool was closed meanwhile.
    private func sleep(until deadline: Int64) -> Bool {
        monitor.withLock {
            while !monitor.state.isClosed, monitor.wait(until: deadline) {}
            return !monitor.state.isClosed
        }
    }
}

// MARK: Connections

extension PostgresPool {
    /// Takes a connection that was alive a moment ago, and makes one if none is idle.
    private func take(until deadline: Int64) throws(PostgresError) -> PostgresConnection {
        while true {
            switch try grant(until: deadline) {
            case .closed: throw Self.closed
            case .place: return try make(until: deadline)
            case .connection(let connection):
                connection.checkIdle()
                if connection.isIdle { return connection }
                giveBackPlace()
            }
        }
    }

    /// Takes an idle connection or a place for a new one, and waits in line if there is neither.
    private func grant(until deadline: Int64) throws(PostgresError) -> Grant {
        let waiter = Waiter()
        let grant: Grant? = monitor.withLock {
            if monitor.state.isClosed { return .closed }
            if let connection = monitor.state.idle.popLast() { return .connection(connection) }
            if monitor.state.count < configuration.connectionLimit {
                monitor.state.count += 1
                return .place
            }
            monitor.state.waiters.append(waiter)
            return nil
        }
        if let grant { return grant }
        if let grant = Self.wait(waiter, until: deadline) { return grant }
        // A grant that was given at the last moment counts: it is given only to a waiter that is still in the line.
        let late: Grant? = monitor.withLock {
            monitor.state.waiters.removeAll { $0 === waiter }
            return waiter.grant.withLock { waiter.grant.state }
        }
        guard let late else {
            let limit = configuration.connectionLimit
            throw PostgresError(.busy, "All \(limit) connections with the database are in use. Try again later.")
        }
        return late
    }

    private static func wait(_ waiter: Waiter, until deadline: Int64) -> Grant? {
        waiter.grant.withLock {
            while waiter.grant.state == nil {
                guard waiter.grant.wait(until: deadline) else { return waiter.grant.state }
            }
            return waiter.grant.state
        }
    }

    private static func give(_ waiter: Waiter, _ grant: Grant) {
        waiter.grant.withLock {
            waiter.grant.state = grant
            waiter.grant.wakeOne()
        }
    }

    private func make(until deadline: Int64) throws(PostgresError) -> PostgresConnection {
        do throws(PostgresError) {
            let (connection, facts) = try connector.connect(until: deadline)
            let old = monitor.withLock {
                let old = begin(with: facts)
                connection.term = monitor.state.term
                for remark in facts.remarks where monitor.state.reported.insert(remark).inserted {
                    monitor.state.remarks.append(remark)
                }
                return old
            }
            _ = consume old
            return connection
        } catch {
            giveBackPlace()
            throw error
        }
    }

    /// Notes with which server a connection was made, and begins the next term if it is another primary. The lock must be
    /// held.
    ///
    /// - Returns: idle connections with the earlier primary, which are to be closed.
    private func begin(with facts: PostgresServerFacts) -> [PostgresConnection] {
        let isSame = monitor.state.facts.map { $0.timeline == facts.timeline } ?? true
        monitor.state.facts = facts
        guard !isSame else { return [] }
        let old = monitor.state.idle
        monitor.state.idle = []
        monitor.state.count -= old.count
        monitor.state.term += 1
        return old
    }

    /// Gives the place of a connection that ended, or was not made, to the first call that waits.
    private func giveBackPlace() {
        monitor.withLock {
            guard let next = nextWaiter() else {
                monitor.state.count -= 1
                return
            }
            Self.give(next, .place)
        }
    }

    /// Brings a connection back after use. One that ended takes the idle ones with it: they are with the same server.
    private func bring(_ connection: PostgresConnection) {
        guard connection.isIdle else {
            let old = monitor.withLock {
                guard connection.failure != nil else { return [PostgresConnection]() }
                let old = monitor.state.idle
                monitor.state.idle = []
                monitor.state.count -= old.count
                return old
            }
            _ = consume old
            return giveBackPlace()
        }
        let isOld = monitor.withLock {
            if monitor.state.isClosed {
                monitor.state.count -= 1
            } else if connection.term != monitor.state.term {
                return true
            } else if let next = nextWaiter() {
                Self.give(next, .connection(connection))
            } else {
                monitor.state.idle.append(connection)
            }
            return false
        }
        if isOld { giveBackPlace() }
    }

    /// Removes the first waiter from the line. The lock must be held.
    private func nextWaiter() -> Waiter? {
        monitor.state.waiters.isEmpty ? nil : monitor.state.waiters.removeFirst()
    }
}

/// Decides whether a transaction that was rolled back is repeated, and after which pause.
struct PostgresAttempts {
    /// The longest pauses in nanoseconds: between transactions that are in each other's way, and between attempts to
    /// find a server, which a fail-over takes seconds for.
    private static let longestPause: Int64 = 100_000_000
    private static let longestSearch: Int64 = 1_000_000_000

    /// The first pause of a search, in units of the configuration: an immediate attempt would meet the same server.
    private static let searchUnits: Int64 = 32

    private let configuration: PostgresConfiguration
    private let isReadOnly: Bool
    private var count = 0
    private var random = SecureRandom()
    /// The error before the last one.
    private var earlier: PostgresError?

    init(_ configuration: PostgresConfiguration, isReadOnly: Bool) {
        (self.configuration, self.isReadOnly) = (configuration, isReadOnly)
    }

    /// - Returns: nanoseconds to wait before the next attempt; nil if the error is final.
    mutating func pause(after error: PostgresError, until deadline: Int64) -> Int64? {
        count += 1
        let isSearch = searches(error)
        let isRepetition = (error.asksToRepeat || error.isStale) && count < configuration.mostAttempts
        guard isSearch || isRepetition else { return nil }
        let unit = max(1, configuration.pause) &* (isSearch ? Self.searchUnits : 1)
        let most = min(isSearch ? Self.longestSearch : Self.longestPause, unit << Int64(min(count, 10)))
        let pause = Int64.random(in: 0...max(0, most), using: &random)
        guard monotonicDeadline(after: pause) < deadline else { return nil }
        earlier = error
        return pause
    }

    /// Whether another connection may find a server that performs the transaction.
    private func searches(_ error: PostgresError) -> Bool {
        switch error.reason {
        case .unavailable: true
        case .readOnly: !isReadOnly && configuration.address.requiresChanges
        case .full: error.sqlState == "53300"
        default: error.endsConnection && !error.isStale && error.reason == .busy
        }
    }

    /// The error to report after the last attempt: a search that ran out of time reports what it has met.
    func telling(_ last: PostgresError) -> PostgresError {
        guard last.sqlState == nil, last.reason == .unavailable, let earlier, earlier.sqlState != nil else {
            return last
        }
        return earlier
    }
}
