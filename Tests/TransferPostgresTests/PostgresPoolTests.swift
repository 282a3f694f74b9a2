import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferPostgres

/// Connections of a pool: their limit, the order of callers, and closing.
@Suite(.enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.advice)))
struct PostgresPoolTests {
    private let server: PostgresServer

    init() throws {
        server = try PostgresServer.shared.get()
    }

    private func pool(limit: Int) throws -> PostgresPool {
        var configuration = try server.configuration()
        configuration.connectionLimit = limit
        return try PostgresPool(configuration)
    }

    /// Takes a connection of the pool and keeps it until the function that it returns is called.
    private func holding(_ pool: PostgresPool) -> () -> Void {
        let state = Monitor((isHeld: false, isReleased: false))
        let thread = TestThread {
            _ = pool.transaction { (transaction) throws(PostgresError) in
                _ = try transaction.run(PostgresStatement("SELECT 1"))
                state.withLock {
                    state.state.isHeld = true
                    state.wakeAll()
                    while !state.state.isReleased { state.wait() }
                }
            }
        }
        state.withLock { while !state.state.isHeld { state.wait() } }
        return {
            state.withLock {
                state.state.isReleased = true
                state.wakeAll()
            }
            thread.join()
        }
    }

    @Test func callersWaitInOrder() throws {
        let pool = try pool(limit: 1)
        defer { pool.close() }
        let release = holding(pool)
        let order = Locked([Int]())
        var threads: [TestThread] = []
        for number in 0..<8 {
            threads.append(
                TestThread {
                    _ = pool.transaction { (_) throws(PostgresError) in order.withLock { $0.append(number) } }
                })
            while pool.waiting < number + 1 { sched_yield() }
        }
        release()
        for thread in threads { thread.join() }
        #expect(order.withLock { $0 } == Array(0..<8))
        #expect(pool.counters.connections.value == 1)
    }

    @Test func aCallerThatWaitsTooLongIsRefusedAndLeavesTheLine() throws {
        let pool = try pool(limit: 1)
        defer { pool.close() }
        let release = holding(pool)
        let outcome = pool.transaction(within: 20_000_000) { (_) throws(PostgresError) in }
        #expect(outcome.refusal?.reason == .busy && outcome.refusal?.message.contains("All 1 connections") == true)
        #expect(pool.waiting == 0)
        release()
        #expect(try pool.number("SELECT 1::int8") == 1)
    }

    @Test func noMoreConnectionsThanTheLimitAreMade() throws {
        let pool = try pool(limit: 3)
        defer { pool.close() }
        let sum = Counter()
        let threads = (0..<12).map { _ in
            TestThread { for _ in 0..<20 { sum.add(UInt64((try? pool.number("SELECT 1::int8")) ?? 0)) } }
        }
        for thread in threads { thread.join() }
        #expect(sum.value == 240 && pool.counters.connections.value <= 3)
    }

    /// A place that is given back by a connection that ended goes to the caller that waits.
    @Test func aConnectionThatEndsMakesRoomForTheNextCaller() throws {
        let pool = try pool(limit: 1)
        defer { pool.close() }
        let process = Monitor(Int32?.none)
        let threads = [
            TestThread {
                _ = pool.transaction { (transaction) throws(PostgresError) in
                    _ = try transaction.run(PostgresStatement("SELECT 1"))
                    process.withLock {
                        if process.state == nil { process.state = transaction.process }
                        process.wakeAll()
                    }
                    let first = process.withLock { process.state ?? 0 }
                    let sql = "SELECT pg_sleep(CASE WHEN pg_backend_pid() = $1 THEN 60 ELSE 0 END) IS NULL"
                    _ = try transaction.run(PostgresStatement(sql, [.shortInteger(first)]))
                }
            },
            TestThread {
                process.withLock { while process.state == nil { process.wait() } }
                _ = try? pool.number("SELECT 1::int8")
            },
        ]
        let found = process.withLock {
            while process.state == nil { process.wait() }
            return process.state ?? 0
        }
        while pool.waiting == 0 { sched_yield() }
        try server.run("SELECT pg_terminate_backend($1)", [.shortInteger(found)])
        for thread in threads { thread.join() }
        #expect(pool.counters.connections.value == 2)
    }

    @Test func closingEndsTheCallersThatWait() throws {
        let pool = try pool(limit: 1)
        let release = holding(pool)
        let reason = Locked(PostgresError.Reason?.none)
        let thread = TestThread {
            let outcome = pool.transaction { (_) throws(PostgresError) in }
            reason.withLock { $0 = outcome.refusal?.reason }
        }
        while pool.waiting == 0 { sched_yield() }
        pool.close()
        thread.join()
        #expect(reason.withLock { $0 } == .closed)
        release()
        let later = pool.transaction { (_) throws(PostgresError) in }
        #expect(later.refusal?.reason == .closed)
        #expect(throws: PostgresError.self) { try pool.examine() }
    }

    /// The connection in use when the pool closes ends when it is brought back.
    @Test func closingLeavesNoSession() throws {
        let pool = try pool(limit: 2)
        let process = try pool.number("SELECT pg_backend_pid()")
        let release = holding(pool)
        pool.close()
        release()
        try server.wait(
            until: "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", [.integer(process)])
    }

    @Test func tooManyClientsAreFoundOutByTheirCode() throws {
        let server = try PostgresServer(["max_connections=4", "superuser_reserved_connections=0"])
        try server.run("CREATE ROLE guest LOGIN")
        var configuration = PostgresConfiguration(try PostgresAddress(server.uri(user: "guest")))
        configuration.connectionLimit = 8
        let pool = try PostgresPool(configuration)
        defer { pool.close() }
        let releases = (0..<4).map { _ in holding(pool) }
        let error = #expect(throws: PostgresError.self) { try pool.examine() }
        #expect(error?.reason == .full && error?.sqlState == "53300")
        for release in releases { release() }
        #expect(try pool.number("SELECT 1::int8") == 1)
    }
}
