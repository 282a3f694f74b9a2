import Testing
import TransferCluster
import TransferClusterModel
import TransferModel
import TransferPostgres
import TransferSystem
import TransferTestSupport

/// Random calls on the ledger in memory and on the one in PostgreSQL, whose results have to agree.
@Suite(.enabled(if: PostgresServer.isInstalled, "\(PostgresServer.advice)"))
struct LedgerAgreementTests {
    private static let steps = 400

    @Test("Both ledgers answer alike", arguments: 1...UInt64(6))
    func agree(_ seed: UInt64) throws {
        var script = LedgerScript(seed: seed)
        let database = ModelDatabase { 1_000 }
        let model = ModelLedger(database)
        let postgres = PostgresLedger(try preparedPool())
        for step in 0..<Self.steps {
            let next = script.next(database.contents)
            let (expected, found) = (try next.run(on: model), try next.run(on: postgres))
            try #require(found == expected, "seed \(seed), step \(step): \(next.name)")
            guard step % 20 == 0 else { continue }
            try expectSame(postgres, model, "seed \(seed), step \(step)")
        }
        try expectSame(postgres, model, "seed \(seed)")
        #expect(database.check() == [])
    }

    /// Compares all rows of two ledgers, and shows those that only one of them has.
    private func expectSame(_ postgres: PostgresLedger, _ model: ModelLedger, _ context: String) throws {
        let (found, expected) = (try postgres.dump(), try model.dump())
        let (more, fewer) = (found.filter { !expected.contains($0) }, expected.filter { !found.contains($0) })
        try #require(found == expected, "\(context): only PostgreSQL has \(more), only the model has \(fewer)")
    }

    /// What two calls have returned, and the rows behind them.
    private struct Outcome: Equatable {
        let first: String
        let second: String
        let rows: [String]
    }

    @Test("Two calls at once are as one after the other", arguments: 1...UInt64(8))
    func interleave(_ seed: UInt64) async throws {
        var script = LedgerScript(seed: seed)
        let database = ModelDatabase { 1_000 }
        let model = ModelLedger(database)
        let postgres = PostgresLedger(try preparedPool())
        for round in 0..<30 {
            for _ in 0..<4 {
                let next = script.next(database.contents)
                try #require(try next.run(on: model) == next.run(on: postgres), "\(next.name)")
            }
            let before = database.contents
            let (one, two) = (script.change(before), script.change(before))
            let found = try await Self.together(one, two, on: postgres)
            let allowed = try Self.serial(one, two, database)
            let match = allowed.first { $0.outcome == found }
            try #require(
                match != nil, "seed \(seed), round \(round): \(one.name) and \(two.name) gave \(found), not \(allowed)")
            if let match { database.restore(match.rows) }
        }
        #expect(database.check() == [])
    }

    private static func together(
        _ one: LedgerScript.Step, _ two: LedgerScript.Step, on ledger: PostgresLedger
    ) async throws -> Outcome {
        async let first = TestThread.run { try one.run(on: ledger) }
        async let second = TestThread.run { try two.run(on: ledger) }
        return Outcome(first: try await first, second: try await second, rows: try ledger.dump())
    }

    /// The outcomes that are allowed: both orders, and that either call has to look again, after which the caller
    /// repeats it.
    private static func serial(
        _ one: LedgerScript.Step, _ two: LedgerScript.Step, _ database: ModelDatabase
    ) throws -> [(outcome: Outcome, rows: ModelRows)] {
        let model = ModelLedger(database)
        let before = database.contents
        let conflict = "throws \(LedgerError.Reason.conflict)"
        var allowed: [(outcome: Outcome, rows: ModelRows)] = []
        for isSwapped in [false, true] {
            database.restore(before)
            let results = try (isSwapped ? [two, one] : [one, two]).map { step in
                let result = try step.run(on: model)
                return (result: result, dump: try model.dump(), rows: database.contents)
            }
            let (early, late) = (results[0], results[1])
            for (result, end) in [(late.result, late), (conflict, early)] {
                let outcome = Outcome(
                    first: isSwapped ? result : early.result, second: isSwapped ? early.result : result, rows: end.dump)
                allowed.append((outcome, end.rows))
            }
        }
        return allowed
    }
}
