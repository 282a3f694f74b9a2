import Testing
import TransferHTTP
import TransferIO
import TransferSystem
import TransferTestSupport

@testable import TransferObjects

@Suite(.timeLimit(.minutes(10))) struct ConnectionPoolTests {
    private static let patience: Int64 = 300_000_000_000

    /// Answers each request with the number of the connection.
    private static func answerNumbers(_ connection: ScriptedServer.Connection) {
        while connection.read() != nil { connection.answer(200, "\(connection.number)") }
    }

    private static func pool(
        _ server: ScriptedServer, _ change: (inout PoolLimits) -> Void = { _ in },
        now: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) throws -> ConnectionPool {
        var limits = PoolLimits()
        change(&limits)
        return ConnectionPool(try Origin(#require(WebAddress(server.url))), limits: limits, now: now)
    }

    /// Sends a request and returns the content of the answer.
    private static func ask(_ pool: ConnectionPool) throws -> String {
        let request = try #require(OutgoingRequest(.get, "/", [("host", "h")]))
        let answer = try pool.send(
            request, into: .array(atMost: 100), times: ExchangeTimes(), until: monotonicDeadline(after: patience))
        return String(decoding: answer.content, as: UTF8.self)
    }

    private static func take(_ pool: ConnectionPool, until deadline: Int64? = nil) throws -> ConnectionPool.Lease {
        try pool.take(connect: patience, until: deadline ?? monotonicDeadline(after: patience))
    }

    @Test func usesAConnectionAgain() async throws {
        try await withServer(Self.answerNumbers) { server in
            let pool = try Self.pool(server)
            for _ in 0..<5 { #expect(try Self.ask(pool) == "0") }
            #expect(pool.made.value == 1)
            #expect(pool.counts == (kept: 1, used: 0))
            pool.closeKept()
            #expect(try Self.ask(pool) == "1")
        }
    }

    @Test func doesNotKeepWhatTheServerCloses() async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.answer(200, [("Connection", "close")], Array("\(connection.number)".utf8))
        } _: { server in
            let pool = try Self.pool(server)
            #expect(try Self.ask(pool) == "0")
            #expect(pool.counts == (kept: 0, used: 0))
            #expect(try Self.ask(pool) == "1")
        }
    }

    @Test func noticesThatAKeptConnectionHasEnded() async throws {
        let closed = Event()
        try await withServer { connection in
            _ = connection.read()
            connection.answer(200, "\(connection.number)")
            if connection.number == 0 {
                connection.end()
                closed.fire()
            }
            _ = connection.receive()
        } _: { server in
            let pool = try Self.pool(server)
            #expect(try Self.ask(pool) == "0")
            closed.wait()
            #expect(try Self.ask(pool) == "1")
        }
    }

    /// Otherwise each later request would get the answer to another one.
    @Test func doesNotTakeOldBytesForAnAnswer() async throws {
        let (kept, sent) = (Event(), Event())
        try await withServer { connection in
            _ = connection.read()
            connection.answer(200, "\(connection.number)")
            if connection.number == 0 {
                kept.wait()
                connection.answer(200, "other")
                sent.fire()
            }
            _ = connection.receive()
        } _: { server in
            let pool = try Self.pool(server)
            #expect(try Self.ask(pool) == "0")
            kept.fire()
            sent.wait()
            #expect(try Self.ask(pool) == "1")
        }
    }

    /// The server closes the connection when it gets the second request, as if it had timed out just then.
    @Test(arguments: [true, false]) func sendsAgainOverANewConnection(resets: Bool) async throws {
        try await withServer { connection in
            _ = connection.read()
            connection.answer(200, "\(connection.number)")
            guard connection.read() != nil else { return }
            if resets { connection.reset() }
        } _: { server in
            let pool = try Self.pool(server)
            #expect(try Self.ask(pool) == "0")
            #expect(try Self.ask(pool) == "1")
            #expect(try Self.ask(pool) == "2")
            #expect(pool.counts == (kept: 1, used: 0))
        }
    }

    @Test func doesNotSendAgainAfterTheFirstByteOfAnAnswer() async throws {
        let tally = Tally()
        try await withServer { connection in
            _ = connection.read()
            tally.next()
            connection.answer(200, "x")
            guard connection.read() != nil else { return }
            tally.next()
            connection.send("H")
        } _: { server in
            let pool = try Self.pool(server)
            _ = try Self.ask(pool)
            #expect(throws: ExchangeFault(.stream(.truncated), hasAnswerBegun: true)) { try Self.ask(pool) }
            #expect(tally.value == 2)
            #expect(pool.counts == (kept: 0, used: 0))
        }
    }

    /// A cut of a new connection is an error that counts, and not repeated here.
    @Test func doesNotSendAgainOverAnotherNewConnection() async throws {
        let tally = Tally()
        try await withServer { connection in
            _ = connection.read()
            tally.next()
        } _: { server in
            let pool = try Self.pool(server)
            #expect(throws: ExchangeFault(.stream(.truncated))) { try Self.ask(pool) }
            #expect(tally.value == 1)
        }
    }

    @Test func closesWhatWasUnusedForTooLong() async throws {
        let time = Locked<Int64>(1_000_000_000_000)
        try await withServer(Self.answerNumbers) { server in
            let pool = try Self.pool(server, now: { time.withLock { $0 } })
            #expect(try Self.ask(pool) == "0")
            time.withLock { $0 += PoolLimits().idle }
            #expect(try Self.ask(pool) == "0")
            time.withLock { $0 += PoolLimits().idle + 1 }
            #expect(try Self.ask(pool) == "1")
        }
    }

    @Test func waitsForAConnectionAtTheLimit() async throws {
        try await withServer(Self.answerNumbers) { server in
            let pool = try Self.pool(server) { $0.connections = 2 }
            let first = try Self.take(pool), second = try Self.take(pool)
            #expect(pool.counts == (kept: 0, used: 2))
            // No third one, until a thread gives one back.
            #expect(throws: ExchangeFault(.crowded)) {
                try Self.take(pool, until: monotonicDeadline(after: 1_000_000))
            }
            let waiter = Locked<String?>(nil)
            let thread = TestThread { waiter.withLock { $0 = try? Self.ask(pool) } }
            pool.giveBack(first)
            thread.join()
            #expect(waiter.withLock { $0 } == "0")
            pool.drop(second)
            #expect(pool.counts == (kept: 1, used: 0))
        }
    }

    @Test func givesItsPlaceBackIfItCannotConnect() async throws {
        let port = try await withServer { _ in
        } _: {
            $0.port
        }
        var limits = PoolLimits()
        limits.connections = 1
        let pool = ConnectionPool(try Origin(#require(WebAddress("http://127.0.0.1:\(port)"))), limits: limits)
        for _ in 0..<3 { #expect(throws: ExchangeFault.self) { try Self.take(pool) } }
        #expect(pool.counts == (kept: 0, used: 0))
    }

    @Test func keepsToTheLimitWithKeptConnections() async throws {
        try await withServer(Self.answerNumbers) { server in
            let pool = try Self.pool(server) { $0.connections = 2 }
            let first = try Self.take(pool), second = try Self.take(pool)
            pool.giveBack(first)
            pool.giveBack(second)
            #expect(pool.counts == (kept: 2, used: 0))
            let fresh = try pool.take(mustBeNew: true, connect: Self.patience, until: .max)
            #expect(!fresh.isReused)
            #expect(pool.counts == (kept: 1, used: 1))
            pool.drop(fresh)
        }
    }

    @Test func servesManyThreads() async throws {
        try await withServer(Self.answerNumbers) { server in
            let pool = try Self.pool(server) { $0.connections = 3 }
            let failures = Tally()
            let threads = (0..<12).map { _ in
                TestThread {
                    for _ in 0..<20 where (try? Self.ask(pool)) == nil { failures.next() }
                }
            }
            for thread in threads { thread.join() }
            #expect(failures.value == 0)
            #expect(pool.made.value <= 3)
            #expect(pool.counts.used == 0)
        }
    }
}
