import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// Transactions against a server: pipelines, repetitions, and the three outcomes.
@Suite(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
struct PostgresTransactionTests {
    private let server: PostgresServer
    private let pool: PostgresPool

    init() throws {
        server = try PostgresServer.shared.get()
        pool = try server.pool()
        try pool.change(
            "CREATE TABLE t (id int8 PRIMARY KEY, value int8 NOT NULL CONSTRAINT positive CHECK (value >= 0))")
        try pool.change("INSERT INTO t VALUES (1, 10), (2, 20)")
    }

    private static func add(_ id: Int64, _ value: Int64) -> PostgresStatement {
        PostgresStatement("INSERT INTO t VALUES ($1, $2)", [.integer(id), .integer(value)])
    }

    private static func set(_ id: Int64, _ value: Int64) -> PostgresStatement {
        PostgresStatement("UPDATE t SET value = $2 WHERE id = $1", [.integer(id), .integer(value)])
    }

    private static func get(_ id: Int64) -> PostgresStatement {
        PostgresStatement("SELECT value FROM t WHERE id = $1", [.integer(id)])
    }

    private func value(_ id: Int64) throws -> Int64 {
        try pool.number("SELECT coalesce((SELECT value FROM t WHERE id = $1), -1)", [.integer(id)])
    }

    // MARK: Pipelines

    @Test func statementsWithBeginAndCommitTakeOneRoundTrip() throws {
        let before = pool.counters.roundTrips.value
        let commits = pool.counters.commitDurations.reading.count
        try pool.change([Self.add(3, 30), Self.add(4, 40), Self.set(1, 11)])
        #expect(pool.counters.roundTrips.value - before == 1)
        #expect(pool.counters.commitDurations.reading.count - commits == 1)
        #expect(try value(4) == 40 && value(1) == 11)
    }

    @Test func aTransactionWithoutStatementsTakesNoRoundTrip() throws {
        let before = pool.counters.roundTrips.value
        let outcome = pool.transaction { (_) throws(PostgresError) in 7 }
        #expect(try outcome.committed() == 7 && pool.counters.roundTrips.value == before)
    }

    @Test func rowsBelongToTheirStatements() throws {
        let rows = try pool.transaction { (transaction) throws(PostgresError) in
            try transaction.run([Self.get(2), Self.set(2, 21), Self.get(2), Self.get(9)])
        }.committed()
        #expect(rows.count == 4 && rows[3].count == 0 && rows[1].affected == 1)
        #expect(try rows[0].integer(0, 0) == 20 && rows[2].integer(0, 0) == 21)
    }

    @Test func anErrorInTheMiddleRollsBackAllAndNamesTheConstraint() throws {
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run([Self.add(5, 50), Self.set(1, -1), Self.add(6, 60)])
        }
        #expect(outcome.refusal?.reason == .constraint("positive") && outcome.refusal?.sqlState == "23514")
        #expect(pool.counters.connections.value == 1)
        let again = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.finish([Self.add(5, 50), Self.add(1, 1), Self.add(6, 60)])
        }
        #expect(again.refusal?.reason == .constraint("t_pkey"))
        #expect(try value(5) == -1 && value(6) == -1 && value(1) == 10)
        // The connection is used again, with the statements that were prepared before the error.
        #expect(pool.counters.connections.value == 1)
    }

    @Test func anErrorThatTheBodyCatchesRollsBackAll() throws {
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run(Self.add(5, 50))
            _ = try? transaction.run(Self.add(5, 50))
            let later = #expect(throws: PostgresError.self) { try transaction.run(Self.add(6, 60)) }
            #expect(later?.sqlState == "23505")
        }
        #expect(outcome.refusal?.sqlState == "23505")
        #expect(try value(5) == -1)
    }

    @Test func theBodyCanRollBack() throws {
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run(Self.add(5, 50))
            throw transaction.givingUp("The name is taken.")
        }
        #expect(outcome.refusal == PostgresError(.givenUp, "The name is taken."))
        #expect(try value(5) == -1 && pool.counters.retries.value == 0)
    }

    @Test func aWrongParameterIsNotSentAndTheTransactionIsOver() throws {
        let wrong = PostgresStatement("SELECT $1::text", [.text("\0")])
        for hasBegun in [false, true] {
            let outcome = pool.transaction { (transaction) throws(PostgresError) in
                if hasBegun { _ = try transaction.run(Self.add(5, 50)) }
                _ = try transaction.run(wrong)
            }
            #expect(outcome.refusal?.reason == .bug)
        }
        #expect(try value(5) == -1)
    }

    @Test func aConstraintThatIsCheckedByCommitRollsBack() throws {
        try pool.change("ALTER TABLE t ADD CONSTRAINT late UNIQUE (value) DEFERRABLE INITIALLY DEFERRED")
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run(Self.add(5, 10))
        }
        #expect(outcome.refusal?.reason == .constraint("late"))
        #expect(try value(5) == -1)
    }

    /// A body that ends the server's transaction itself gets ROLLBACK or a warning in answer to COMMIT.
    @Test func aFailedTransactionIsNotTakenAsCommitted() throws {
        let connection = try connect()
        let deadline = monotonicDeadline(after: 60_000_000_000)
        _ = try connection.run([PostgresStatement("BEGIN"), Self.add(5, 50)], until: deadline)
        _ = try connection.exchange([Self.add(5, 50)], until: deadline)
        let exchange = try connection.exchange([PostgresStatement("COMMIT")], until: deadline)
        guard case .rolledBack(let error) = PostgresTransaction.ending(exchange, count: 1) else {
            Issue.record("it counts as committed")
            return
        }
        #expect(error.message.contains("ROLLBACK"))
    }

    private func connect() throws -> PostgresConnection {
        let connector = PostgresConnector(
            pool.configuration, library: try PostgresLibrary.require(), counters: PostgresCounters())
        return try connector.connect(until: monotonicDeadline(after: 60_000_000_000)).connection
    }

    /// 24 MB each way, more than any socket buffers: the server stops reading when its answers are not read.
    @Test func largeStatementsAndAnswersDoNotWaitForEachOther() throws {
        let bytes = SplitMix64.bytes(seed: 3, 1 << 20)
        let echo = PostgresStatement("SELECT $1::bytea", [.bytes(bytes)])
        let rows = try pool.transaction { (transaction) throws(PostgresError) in
            try transaction.finish(Array(repeating: echo, count: 24))
        }.committed()
        #expect(rows.count == 24)
        for row in rows { #expect(try row.bytes(0, 0) == bytes) }
    }

    @Test func moreStatementsThanAreKeptWorkUnprepared() throws {
        let statements = (0..<PostgresLimits.preparedStatements + 20).map {
            PostgresStatement("SELECT \($0)::int8 + $1", [.integer(1)])
        }
        let rows = try pool.read { (transaction) throws(PostgresError) in try transaction.run(statements + statements) }
        #expect(rows.count == 2 * statements.count)
        #expect(try rows.last?.integer(0, 0) == Int64(statements.count))
    }

    /// A change of the table makes the plan of a statement that returns all columns stale.
    @Test func aStatementIsPreparedAgainWhenItsTableHasChanged() throws {
        let all = PostgresStatement("SELECT * FROM t WHERE id = 1")
        let columns = { (pool: PostgresPool) throws in
            try pool.read { (transaction) throws(PostgresError) in try transaction.run(all).isNull(0, 2) }
        }
        #expect(throws: PostgresError.self) { try columns(pool) }
        try server.run("ALTER TABLE \(pool.configuration.schema).t ADD COLUMN more int8")
        #expect(try columns(pool))
    }

    // MARK: Repetitions

    @Test func aSerializationFailureIsRepeated() throws {
        var attempts = 0
        let outcome = pool.transaction(.repeatableRead) { (transaction) throws(PostgresError) in
            attempts += 1
            let found = try transaction.run(Self.get(1)).integer(0, 0)
            if attempts == 1 {
                do { try pool.change([Self.set(1, 100)]) } catch { throw transaction.givingUp("\(error)") }
            }
            _ = try transaction.run(Self.set(1, found + 1))
        }
        _ = try outcome.committed()
        #expect(try value(1) == 101 && attempts == 2 && pool.counters.retries.value == 1)
    }

    @Test func repetitionsAreBounded() throws {
        var configuration = pool.configuration
        configuration.mostAttempts = 3
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        var attempts = 0
        let outcome = pool.transaction(.repeatableRead) { (transaction) throws(PostgresError) in
            attempts += 1
            _ = try transaction.run(Self.get(1))
            do { try self.pool.change([Self.set(1, Int64(attempts))]) } catch { throw transaction.givingUp("\(error)") }
            _ = try transaction.run(Self.set(1, 0))
        }
        #expect(outcome.refusal?.sqlState == "40001" && outcome.refusal?.reason == .busy && attempts == 3)
    }

    /// Two transactions lock one row each, and then want the other one. The server ends one of them, which is repeated.
    @Test func aDeadlockIsRepeated() throws {
        let (pool, meeting) = (pool, Monitor(0))
        let outcomes = Monitor([Bool]())
        let threads = [(Int64(1), Int64(2)), (2, 1)].map { first, second in
            TestThread {
                var isFirst = true
                let outcome = pool.transaction { (transaction) throws(PostgresError) in
                    _ = try transaction.run(Self.set(first, 1))
                    if isFirst {
                        isFirst = false
                        meeting.withLock {
                            meeting.state += 1
                            meeting.wakeAll()
                            while meeting.state < 2 { meeting.wait() }
                        }
                    }
                    _ = try transaction.run(Self.set(second, 2))
                }
                outcomes.withLock { outcomes.state.append((try? outcome.committed()) != nil) }
            }
        }
        for thread in threads { thread.join() }
        #expect(outcomes.withLock { outcomes.state } == [true, true])
        #expect(pool.counters.retries.value >= 1)
    }

    // MARK: Lost connections

    private func terminate(_ process: Int32) throws {
        try server.run("SELECT pg_terminate_backend($1)", [.shortInteger(process)])
        try server.wait(
            until: "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", [.shortInteger(process)])
    }

    @Test func aTransactionWhoseSessionIsTerminatedIsRepeated() throws {
        var attempts = 0
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            attempts += 1
            _ = try transaction.run(Self.add(5, Int64(attempts)))
            if attempts == 1 {
                do { try terminate(transaction.process) } catch { throw transaction.givingUp("\(error)") }
            }
            _ = try transaction.run(Self.add(6, Int64(attempts)))
        }
        _ = try outcome.committed()
        #expect(try value(5) == 2 && value(6) == 2 && pool.counters.connections.value == 2)
    }

    @Test func anIdleConnectionThatTheServerHasClosedIsReplaced() throws {
        let process = try pool.number("SELECT pg_backend_pid()")
        try terminate(Int32(process))
        #expect(try pool.number("SELECT pg_backend_pid()") != process)
        #expect(pool.counters.connections.value == 2 && pool.counters.retries.value == 0)
    }

    /// Only the caller knows whether a transaction may be performed twice, so the pool does not repeat it.
    @Test(arguments: [false, true]) func aLostAnswerToCommitIsUnknown(_ takesStatementsAlong: Bool) throws {
        let relay = try Relay(to: server.socket)
        var configuration = PostgresConfiguration(try PostgresAddress(relay.uri()))
        configuration.schema = pool.configuration.schema
        let cut = try PostgresPool(configuration)
        defer { cut.close() }
        let outcome = cut.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.run(Self.add(5, 50))
            relay.cutNextAnswer()
            if takesStatementsAlong { _ = try transaction.finish([Self.add(6, 60)]) }
        }
        #expect(outcome.isUnknown && relay.cut == 1 && cut.counters.unknownCommits.value == 1)
        #expect(try value(5) == 50 && value(6) == (takesStatementsAlong ? 60 : -1))
        // The next transaction gets a new connection.
        try cut.change([Self.add(7, 70)])
        #expect(cut.counters.connections.value == 2)
    }

    /// Statements before COMMIT are repeated over another connection.
    @Test func aLostAnswerToAStatementIsRepeated() throws {
        let relay = try Relay(to: server.socket)
        var configuration = PostgresConfiguration(try PostgresAddress(relay.uri()))
        configuration.schema = pool.configuration.schema
        let cut = try PostgresPool(configuration)
        defer { cut.close() }
        var attempts = 0
        let outcome = cut.transaction { (transaction) throws(PostgresError) in
            attempts += 1
            if attempts == 1 { relay.cutNextAnswer() }
            _ = try transaction.run(Self.add(5, 50))
        }
        _ = try outcome.committed()
        #expect(try attempts == 2 && value(5) == 50)
    }

    @Test func aCommitThatIsNotAnsweredInTimeIsUnknown() throws {
        try pool.change(
            """
            CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$
            """)
        try pool.change(
            """
            CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
                EXECUTE FUNCTION late()
            """)
        let outcome = pool.transaction(within: 300_000_000) { (transaction) throws(PostgresError) in
            _ = try transaction.finish([Self.add(5, 50)])
        }
        // On a slow machine, the time can pass before COMMIT is sent.
        #expect(outcome.isUnknown || outcome.refusal?.reason == .unavailable)
    }

    // MARK: Reading

    @Test func readingChangesNothing() throws {
        let error = try #require(throws: PostgresError.self) {
            try pool.read { (transaction) throws(PostgresError) in _ = try transaction.run(Self.add(5, 50)) }
        }
        #expect(error.reason == .readOnly && error.sqlState == "25006" && pool.counters.retries.value == 0)
    }

    @Test func aReadWithFinishTakesOneRoundTrip() throws {
        let before = pool.counters.roundTrips.value
        let found = try pool.read(.serializable) { (transaction) throws(PostgresError) in
            try transaction.finish([Self.get(1)])
        }
        #expect(try found.first?.integer(0, 0) == 10 && pool.counters.roundTrips.value - before == 1)
    }

    @Test func aTransactionCannotBeUsedAfterItsEnd() throws {
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            _ = try transaction.finish([Self.add(5, 50)])
            _ = try transaction.run(Self.add(6, 60))
        }
        // It is committed, and its value is unknown.
        #expect(outcome.isUnknown)
        #expect(try value(5) == 50 && value(6) == -1)
    }
}
