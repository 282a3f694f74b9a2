import TransferSystem

/// The isolation of a transaction, and whether it may change something (manual, "Transaction Isolation").
package enum PostgresIsolation: Sendable {
    case readCommitted
    case repeatableRead
    case serializable

    fileprivate var words: String {
        switch self {
        case .readCommitted: "READ COMMITTED"
        case .repeatableRead: "REPEATABLE READ"
        case .serializable: "SERIALIZABLE"
        }
    }
}

/// The outcome of a transaction.
package enum PostgresOutcome<Value> {
    /// All changes are as durable as the server's settings promise.
    case committed(Value)
    /// The database is as it was before.
    case rolledBack(PostgresError)
    /// The changes may be there, or may be lost in a fail-over: the connection was lost before COMMIT was answered, or
    /// the wait for a synchronous standby was cancelled. The caller has to look, and must not acknowledge what is found
    /// before a `barrier` has succeeded.
    case unknown(PostgresError)
}

extension PostgresOutcome: Sendable where Value: Sendable {}

/// One attempt of a transaction, for the body that a pool calls.
///
/// The first statements take BEGIN along, so that it costs no round trip. `finish` takes COMMIT along; without it, the
/// pool commits after the body. A failed statement ends the transaction, also if the body catches the error.
///
///     new ─run─► open ─run─► open ─(body returns)─► committed, rolled back, unknown
///                 │ └─finish─► committed, rolled back, unknown
///                 └─(failure)─► failed ─► rolled back
package final class PostgresTransaction {
    private let connection: PostgresConnection
    private let begin: PostgresStatement
    private let counters: PostgresCounters

    /// The time until which the caller waits, in nanoseconds of the monotonic clock.
    package let deadline: Int64

    private enum State {
        case new
        case open
        case failed(PostgresError)
        case ended(Ending)
    }

    /// The outcome without the body's value.
    enum Ending {
        case committed
        case rolledBack(PostgresError)
        case unknown(PostgresError)
    }

    private var state = State.new

    private static let commit = PostgresStatement("COMMIT")
    private static let rollback = PostgresStatement("ROLLBACK")

    init(
        on connection: PostgresConnection, _ isolation: PostgresIsolation, isReadOnly: Bool,
        counters: PostgresCounters, deadline: Int64
    ) {
        (self.connection, self.counters, self.deadline) = (connection, counters, deadline)
        begin = PostgresStatement("BEGIN ISOLATION LEVEL \(isolation.words) READ \(isReadOnly ? "ONLY" : "WRITE")")
    }

    /// The number of the server's process, for messages and tests.
    package var process: Int32 { connection.process }

    /// Performs statements in one round trip.
    ///
    /// - Returns: the rows of each statement.
    /// - Throws: the error of the first statement that fails, or of the connection.
    package func run(_ statements: [PostgresStatement]) throws(PostgresError) -> [PostgresRows] {
        let prefix = try opening()
        let exchange = try exchange(prefix + statements)
        if let error = exchange.error {
            state = .failed(error)
            throw error
        }
        state = .open
        return Self.rows(exchange.replies.dropFirst(prefix.count))
    }

    /// Performs one statement in one round trip.
    package func run(_ statement: PostgresStatement) throws(PostgresError) -> PostgresRows {
        guard let rows = try run([statement]).first else { throw .violation("an answer is missing") }
        return rows
    }

    /// Performs the last statements and commits, in one round trip. The body must not throw for what it finds in the
    /// rows: it is committed then.
    ///
    /// - Returns: the rows of each statement.
    /// - Throws: the reason why the transaction is rolled back or its outcome unknown.
    package func finish(_ statements: [PostgresStatement]) throws(PostgresError) -> [PostgresRows] {
        let prefix = try opening()
        let start = monotonicNanoseconds()
        let exchange = try exchange(prefix + statements + [Self.commit])
        let replies = exchange.replies.prefix(prefix.count + statements.count)
        for case .failed(let error) in replies {
            state = .failed(error)
            throw error
        }
        try end(Self.ending(exchange, count: prefix.count + statements.count + 1), since: start)
        return Self.rows(replies.dropFirst(prefix.count))
    }

    /// Makes the error with which a body rolls the transaction back.
    ///
    /// - Parameter reason: a sentence for people.
    package func givingUp(_ reason: String) -> PostgresError { PostgresError(.givenUp, reason) }

    /// BEGIN, if it was not sent yet.
    private func opening() throws(PostgresError) -> [PostgresStatement] {
        switch state {
        case .new: return [begin]
        case .open: return []
        case .failed(let error): throw error
        case .ended: throw PostgresError(.bug, "A transaction was used after its end. Report this as a bug.")
        }
    }

    /// A statement that cannot be sent fails the transaction, too.
    private func exchange(_ statements: [PostgresStatement]) throws(PostgresError) -> PostgresConnection.Exchange {
        do throws(PostgresError) {
            return try connection.exchange(statements, until: deadline)
        } catch {
            if case .new = state { state = .ended(.rolledBack(error)) } else { state = .failed(error) }
            throw error
        }
    }

    private static func rows(_ replies: ArraySlice<PostgresConnection.Reply>) -> [PostgresRows] {
        replies.compactMap { if case .rows(let rows) = $0 { rows } else { nil } }
    }

    private func end(_ ending: Ending, since start: Int64) throws(PostgresError) {
        state = .ended(ending)
        switch ending {
        case .committed:
            counters.transactions.add()
            counters.commitDurations.add(monotonicNanoseconds() - start)
        case .rolledBack(let error): throw error
        case .unknown(let error):
            counters.unknownCommits.add()
            throw error
        }
    }
}

// MARK: Ending

extension PostgresTransaction {
    /// Commits after the body, if the body has not done so.
    func commit() -> Ending {
        switch state {
        case .new: return .committed
        case .ended(let ending): return ending
        case .failed(let error):
            rollBack()
            return .rolledBack(error)
        case .open:
            // The errors that this throws are in the state.
            _ = try? finish([])
            if case .ended(let ending) = state { return ending }
            rollBack()
            guard case .failed(let error) = state else { return .rolledBack(.violation("COMMIT has no answer")) }
            return .rolledBack(error)
        }
    }

    /// Ends the transaction after an error of the body.
    func abandon(_ error: PostgresError) -> Ending {
        switch state {
        case .ended(.committed): return .unknown(error)
        case .ended(let ending): return ending
        case .new: return .rolledBack(error)
        case .open:
            rollBack()
            return .rolledBack(error)
        case .failed(let first):
            rollBack()
            return .rolledBack(first)
        }
    }

    /// Makes the connection usable for other transactions; if that fails, the pool notices that it is not idle.
    private func rollBack() {
        guard connection.failure == nil, !connection.isIdle else { return }
        _ = try? connection.exchange([Self.rollback], until: deadline)
    }

    /// Decides the outcome by the answer to COMMIT, the last of `count` statements.
    static func ending(_ exchange: PostgresConnection.Exchange, count: Int) -> Ending {
        guard exchange.replies.count == count, let reply = exchange.replies.last else {
            return .unknown(unknown(exchange.loss?.message ?? "COMMIT was not answered."))
        }
        switch reply {
        case .skipped: return .rolledBack(.violation("COMMIT was skipped, though no statement had failed"))
        case .failed(let error):
            return error.reason != .unavailable && error.excludesCommit
                ? .rolledBack(error) : .unknown(unknown(error.message))
        case .rows(let rows):
            // A transaction that has failed answers COMMIT with ROLLBACK, and success.
            guard rows.tag == "COMMIT" else {
                return .rolledBack(
                    PostgresError(.bug, "A failed transaction was committed: the answer was \(rows.tag)."))
            }
            guard let warning = exchange.lastWarnings.first else { return .committed }
            return .unknown(unknown("The database warned: \(warning)."))
        }
    }

    private static func unknown(_ reason: String) -> PostgresError {
        PostgresError(.unavailable, "It is not known whether a change is kept in the database. \(reason)")
    }
}
