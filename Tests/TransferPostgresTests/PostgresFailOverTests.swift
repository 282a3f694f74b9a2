import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// Restarts, fail-overs, and commits that wait for standbys.
@Suite(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
struct PostgresFailOverTests {
    private static func add(_ id: Int64) -> PostgresStatement {
        PostgresStatement("INSERT INTO t VALUES ($1)", [.integer(id)])
    }

    private static func count(_ pool: PostgresPool) throws -> Int64 { try pool.number("SELECT count(*) FROM t") }

    @Test func aTransactionOutlivesAnImmediateRestart() throws {
        let server = try PostgresServer()
        let pool = try server.pool()
        defer { pool.close() }
        try pool.change("CREATE TABLE t (id int8)")
        var attempts: Int64 = 0
        let outcome = pool.transaction { (transaction) throws(PostgresError) in
            attempts += 1
            _ = try transaction.run(Self.add(attempts))
            if attempts == 1 {
                server.end("QUIT")
                do { try server.start() } catch { throw transaction.givingUp("\(error)") }
            }
            _ = try transaction.run(Self.add(attempts))
        }
        _ = try outcome.committed()
        #expect(try attempts == 2 && Self.count(pool) == 2)
    }

    @Test func callsWaitForAServerThatStarts() throws {
        let server = try PostgresServer()
        let pool = try server.pool()
        defer { pool.close() }
        try pool.change("CREATE TABLE t (id int8)")
        server.end("QUIT")
        let isDone = Locked(false)
        let thread = TestThread {
            let isCommitted = (try? pool.change([Self.add(1)])) != nil
            isDone.withLock { $0 = isCommitted }
        }
        while pool.counters.retries.value < 2 { sched_yield() }
        try server.start()
        thread.join()
        #expect(try isDone.withLock { $0 } && Self.count(pool) == 1)
    }

    @Test func aPromotedStandbyIsFound() throws {
        let primary = try PostgresServer()
        let programs = try #require(PostgresServer.programs)
        let standby = try PostgresServer { data in
            try PostgresServer.shell(
                [
                    "\(programs)/pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-h",
                    primary.path,
                ]
                    + ["-U", PostgresServer.user, "-D", data])
        }
        // The standby is first in the list and is passed over.
        let address = try PostgresAddress(
            "postgres://\(PostgresServer.user)@/postgres?host=\(standby.path),\(primary.path)")
        var configuration = PostgresConfiguration(address)
        configuration.schema = try primary.configuration().schema
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        #expect(try pool.examine().host.hasPrefix(primary.path))
        try pool.change("CREATE TABLE t (id int8)")
        try pool.change([Self.add(1)])
        try standby.wait(
            until:
                "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 't') AND pg_last_wal_replay_lsn() >= $1::text::pg_lsn",
            [.text(try Self.position(pool))])
        let term = pool.term
        primary.end("QUIT")
        let isDone = Locked(false)
        let thread = TestThread {
            let isCommitted = (try? pool.change([Self.add(2)])) != nil
            isDone.withLock { $0 = isCommitted }
        }
        while pool.counters.retries.value < 1 { sched_yield() }
        try standby.run("SELECT pg_promote()")
        thread.join()
        #expect(try isDone.withLock { $0 } && Self.count(pool) == 2)
        #expect(try pool.examine().host.hasPrefix(standby.path))
        // What was read from the old primary may be lost.
        #expect(pool.term == term + 1)
        let error = #expect(throws: PostgresError.self) { try pool.barrier(of: term) }
        #expect(error?.reason == .unavailable)
        try pool.barrier(of: pool.term)
    }

    private static func position(_ pool: PostgresPool) throws -> String {
        try pool.read { (transaction) throws(PostgresError) in
            try transaction.run(PostgresStatement("SELECT pg_current_wal_flush_lsn()::text")).text(0, 0)
        }
    }

    // MARK: Standbys that a commit waits for

    private enum Interruption: String, CaseIterable {
        case cancel = "pg_cancel_backend"
        case terminate = "pg_terminate_backend"
    }

    /// Runs `body` on a thread until it waits for a standby, and interrupts the wait. A server that has just started
    /// may not know yet that commits have to wait; `body` then runs again.
    private static func interrupt(
        _ interruption: Interruption, _ server: PostgresServer, _ body: @escaping @Sendable () -> Void
    ) throws {
        let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        var hasWaited = false
        while !hasWaited {
            let hasEnded = Locked(false)
            let thread = TestThread {
                body()
                hasEnded.withLock { $0 = true }
            }
            while !hasWaited, !hasEnded.withLock({ $0 }) {
                let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(server.uri())))
                defer { pool.close() }
                hasWaited = try pool.number("SELECT count(\(interruption.rawValue)(pid)) FROM (\(waiting)) AS w") > 0
            }
            thread.join()
        }
    }

    @Test(arguments: ["pg_cancel_backend", "pg_terminate_backend"])
    func aWaitForAStandbyThatIsInterruptedIsUnknown(_ name: String) throws {
        let interruption = try #require(Interruption(rawValue: name))
        let server = try PostgresServer()
        let pool = try server.pool()
        defer { pool.close() }
        try pool.change("CREATE TABLE t (id int8)")
        server.end("INT")
        try server.start(["synchronous_standby_names=ghost"])
        #expect(try pool.examine().synchronousStandbys == "ghost" && pool.term == 0)

        let (before, outcomes) = (pool.counters.unknownCommits.value, Monitor([String]()))
        try Self.interrupt(interruption, server) {
            let outcome = pool.transaction { (transaction) throws(PostgresError) in
                _ = try transaction.finish([Self.add(1)])
            }
            let text =
                switch outcome {
                case .committed: "committed"
                case .rolledBack(let error): "rolled back: \(error)"
                case .unknown(let error): "unknown: \(error)"
                }
            outcomes.withLock { outcomes.state.append(text) }
        }
        let last = outcomes.withLock { outcomes.state.last ?? "" }
        #expect(last.hasPrefix("unknown: "), "\(last)")
        #expect(pool.counters.unknownCommits.value == before + 1)
        // It is visible all the same, which is why it must not be acknowledged.
        #expect(try Self.count(pool) >= 1)

        let barrier = Locked(PostgresError?.none)
        try Self.interrupt(interruption, server) {
            do throws(PostgresError) {
                try pool.barrier()
                barrier.withLock { $0 = nil }
            } catch {
                barrier.withLock { $0 = error }
            }
        }
        #expect(barrier.withLock { $0?.reason } == .unavailable)
    }

    @Test func aBarrierCommitsAMessageInOneRoundTrip() throws {
        let pool = try PostgresServer.shared.get().pool()
        defer { pool.close() }
        _ = try pool.examine()
        let (position, trips) = (try Self.position(pool), pool.counters.roundTrips.value)
        try pool.barrier()
        #expect(pool.counters.roundTrips.value == trips + 1)
        #expect(
            try pool.number(
                "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), $1::text::pg_lsn)::int8", [.text(position)]) > 0)
    }
}
