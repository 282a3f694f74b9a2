import Foundation
import Testing
import TransferDatabase
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCatalog

/// Clients can cause only a bounded number of rows for one path, and of rows in one transaction.
@Suite(.overEachKindOfRecords) struct BoundedChangesTests {
    /// Counts the rows that each transaction of a catalog changes.
    private final class Transactions: Sendable {
        private let rows = Locked([Int]())
        /// Called after each transaction, with the catalog's lock held.
        let then = Locked<(@Sendable (_ number: Int) -> Void)?>(nil)

        var calls: DatabaseCalls {
            var calls = DatabaseCalls()
            calls.changed = { [self] count in
                let number = rows.withLock { rows in
                    rows.append(count)
                    return rows.count
                }
                then.withLock { $0 }?(number)
            }
            return calls
        }

        var count: Int { rows.withLock { $0.count } }

        func take() -> [Int] {
            rows.withLock { rows in
                defer { rows = [] }
                return rows
            }
        }
    }

    /// The maximum number of rows that one transaction changes: `rowsAtOnce`, and the rows by which its last change may exceed that,
    /// which are the rows of two paths and their signatures.
    private static let most = Catalog.rowsAtOnce + 8 * Catalog.mostOfPath

    private let fixture: CatalogFixture
    private let transactions = Transactions()

    init() throws { fixture = try CatalogFixture() }

    private func entry(
        _ number: UInt64, _ path: String, _ state: CatalogEntry.State = .committed, object: UInt64? = nil
    ) -> CatalogEntry {
        CatalogEntry(
            id: UploadID(high: 1, low: number), state: state, path: path, size: number, begun: 1,
            committed: Int64(number),
            version: ContentVersion(object: object ?? number, revision: 2, touch: 3, size: number))
    }

    /// Inserts rows as an older server left them.
    private func insert(_ count: Int, _ path: String, object: UInt64 = 1) throws {
        try fixture.database().execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO uploads (id, state, durable, kind, size, begun, committed, object, touch, revision, path, sender)
            SELECT randomblob(16), 1 + i % 2, 1, 0, 0, 1, 1, \(object), 3, 2, '\(path)', '' FROM n
            """)
    }

    private func rows(_ condition: String = "1") throws -> Int64? {
        try fixture.database().execute("SELECT count(*) FROM uploads WHERE \(condition)")
    }

    private func count(of path: String, in catalog: any UploadRecords) throws -> Int {
        var count = 0
        try catalog.forEachEntry { count += $0.path == path ? 1 : 0 }
        return count
    }

    /// After 2,000 uploads to one path, the catalog keeps as many rows as it reads for a path, and these are the
    /// newest.
    @Test func aPathHasFewRows() throws {
        let catalog = fixture.open()
        let states = CatalogEntry.State.allCases
        for batch in 0..<20 {
            try catalog.record(
                (0..<100).map { entry(UInt64(batch * 100 + $0), "a", states[$0 % 2]) }
                    + [entry(UInt64(9000 + batch), "b")])
            if batch.isMultiple(of: 3) { try catalog.index() }
        }
        try catalog.index()
        #expect(try count(of: "a", in: catalog) == 2 * Catalog.mostOfPath)
        #expect(try count(of: "b", in: catalog) == 20)
        let newest = Set((2000 - 2 * Catalog.mostOfPath..<2000).map { UInt64($0) })
        #expect(try Set(catalog.entries(at: ["a"])[0].map(\.size)) == newest)
        #expect(try catalog.entry(for: entry(0, "a").id) == nil)
        #expect(try catalog.entry(for: entry(1999, "a").id)?.size == 1999)
    }

    /// Rows that an older server left are removed with later uploads, several at once.
    @Test(.databaseOnly) func aPathThatHadManyRowsLosesThem() throws {
        let catalog = fixture.openDatabase(transactions.calls)
        try catalog.record([entry(1, "a")])
        try catalog.index()
        try insert(5000, "a")
        _ = transactions.take()
        for number in 2..<16 {
            try catalog.record([entry(UInt64(number), "a")])
            try catalog.index()
        }
        #expect(try rows("path = 'a'") == Int64(2 * Catalog.mostOfPath))
        #expect(transactions.take().max() ?? 0 <= 2 * Self.most)
    }

    /// An upload with a noted move is not forgotten before the move, whatever else is uploaded to its path.
    @Test func whatIsBeingMovedIsNotForgotten() throws {
        let catalog = fixture.open()
        try catalog.record([entry(1, "a")])
        let version = ContentVersion(object: 1, revision: 2, touch: 3, size: 1)
        let noted = try catalog.intend([IntendedChange(.move, "a", to: "b", before: version, at: 1)])
        try catalog.record((2..<400).map { entry(UInt64($0), "a") })
        var changes = KnownChanges()
        changes.moves = [PathMove("a", to: "b", object: 1, at: 1)]
        try catalog.complete(noted, changes)
        #expect(try catalog.stored(at: "b").map(\.size) == [1])
        #expect(try count(of: "a", in: catalog) == Catalog.mostOfPath)
    }

    /// If no upload of a batch is known any more, its signature is removed as well.
    @Test func signaturesGoWithTheirUploads() throws {
        let catalog = fixture.open()
        for batch in 0..<30 as Range<UInt64> {
            let entries = (0..<10 as Range<UInt64>).map { index in
                var entry = entry(batch * 10 + index, "a")
                entry.receipt = 1000 + batch * 10 + index
                return entry
            }
            let signedBatch = SignedBatch(
                number: 1000 + batch * 10, time: 1, count: 10, signature: [UInt8](repeating: 1, count: 64), sender: "s")
            try catalog.record(entries, with: signedBatch)
        }
        try catalog.index()
        // The oldest remaining row is in the middle of a batch, whose receipts cannot be made again.
        let last = UInt64(1300)
        let kept = try (1000..<last).filter { try catalog.receipts(with: $0) != nil }
        #expect(kept == Array(last - UInt64(Catalog.mostOfPath / 10 * 10)..<last))
        #expect(try catalog.receipts(with: 1299)?.uploads.count == 10)
        #expect(try catalog.receipts(with: 1000) == nil)
        try catalog.forget(["a"])
        #expect(try catalog.receipts(with: 1299) == nil && fixture.hasRows(0, in: "receipts"))
    }

    @Test func aSignatureStaysWhereAnotherOneHasGone() throws {
        let catalog = fixture.open()
        for (number, path) in [(10, "a"), (20, "b")] as [(UInt64, String)] {
            var entry = entry(number, path)
            entry.receipt = number
            let signedBatch = SignedBatch(
                number: number, time: 1, count: 1, signature: [UInt8](repeating: 1, count: 64), sender: "s")
            try catalog.record([entry], with: signedBatch)
        }
        var stray = entry(30, "c")
        // The row's signature is missing, and the signature before it belongs to another batch.
        stray.receipt = 15
        try catalog.record([stray])
        try catalog.forget(["c", "b"])
        #expect(try catalog.receipts(with: 10) != nil)
        #expect(try catalog.receipts(with: 20) == nil)
    }

    @Test(.databaseOnly) func noTransactionIsLong() throws {
        let catalog = fixture.openDatabase(transactions.calls)
        for batch in 0..<100 as Range<UInt64> {
            try catalog.record((0..<200).map { entry(batch * 200 + $0, "d/\(batch * 200 + $0)") })
        }
        try catalog.index()
        try insert(3000, "x")
        try insert(3000, "y", object: 2)
        var changes = KnownChanges()
        changes.moves = [PathMove("d", to: "n", at: .max), PathMove("x", to: "y", object: 1, at: .max)]
        changes.moves += (0..<128).map { PathMove("m\($0)", to: "k\($0)", object: 1, at: .max) }
        for number in 0..<128 {
            try insert(60, "m\(number)")
            try insert(60, "k\(number)", object: 2)
        }
        let noted = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(7), at: 9)])
        try catalog.complete(noted, changes)
        #expect(try rows("path > 'n/' AND path < 'n0'") == 20_000)
        #expect(try rows("path = 'x'") == 0)
        #expect(try rows("path = 'y' AND object = 1") == Int64(2 * Catalog.mostOfPath))
        #expect(try rows("path LIKE 'k%' AND object = 1") == 128 * 60)
        try catalog.forget((0..<20_000).map { "n/\($0)" } + ["y"])
        #expect(try rows() == 128 * 60)
        let all = transactions.take()
        #expect(all.max() ?? 0 <= Self.most, "\(all)")
        #expect(all.count > 200)
    }

    private static func version(_ object: UInt64) -> ContentVersion {
        ContentVersion(object: object, revision: 2, touch: 3, size: 4)
    }

    /// An upload is recorded while a folder with 20,000 uploads is moved.
    @Test(.databaseOnly) func othersHaveTheirTurnBetweenTwoSteps() throws {
        let catalog = fixture.openDatabase(transactions.calls)
        for batch in 0..<100 as Range<UInt64> {
            try catalog.record((0..<200).map { entry(batch * 200 + $0, "d/\(batch * 200 + $0)") })
        }
        try catalog.index()
        _ = transactions.take()
        let recorded = Locked(0)
        let isDone = DispatchSemaphore(value: 0)
        transactions.then.withLock { then in
            then = { [transactions, entry = entry(90_000, "other")] number in
                guard number == 2 else { return }
                Thread {
                    _ = try? catalog.record([entry])
                    recorded.withLock { $0 = transactions.count }
                    isDone.signal()
                }.start()
                while !catalog.connections.hasWaiting { sched_yield() }
            }
        }
        var changes = KnownChanges()
        changes.moves = [PathMove("d", to: "n", at: .max)]
        try catalog.complete(.none, changes)
        isDone.wait()
        #expect(transactions.count >= 40)
        #expect(recorded.withLock { $0 } < transactions.count)
        #expect(try catalog.entry(for: entry(90_000, "").id) != nil)
    }

    /// A server that ends between two steps leaves the notes. The next server begins again, and keeps what was already
    /// moved.
    @Test(.databaseOnly, arguments: 1...4) func aServerThatEndsBetweenTwoSteps(_ step: Int) throws {
        let names = 0..<60
        do {
            let steps = Locked(0)
            let calls = DatabaseCalls { call in
                guard call == .commit else { return 0 }
                // Counts only the steps after the note.
                return steps.withLock { steps in
                    if steps > 0 { steps += 1 }
                    return steps > step + 1 ? 5 : 0
                }
            }
            let catalog = fixture.openDatabase(calls)
            try catalog.record([entry(1, "z")])
            try catalog.index()
            for name in names {
                // A copy of the directory, whose files have other inode numbers than the catalog knows.
                try insert(40, "a\(name)", object: 1)
                try insert(40, "b\(name)", object: 2)
            }
            let noted = try catalog.intend(
                names.map { IntendedChange(.move, "a\($0)", to: "b\($0)", before: Self.version(77), at: 9) })
            steps.withLock { $0 = 1 }
            var changes = KnownChanges()
            changes.moves = names.map { PathMove("a\($0)", to: "b\($0)", object: 77, at: 9) }
            #expect(throws: RecordsError.self) { try catalog.complete(noted, changes) }
            catalog.abandon()
        }
        let next = fixture.open()
        #expect(try next.intended().count == names.count)
        _ = try next.resolveIntended { (path) throws(RecordsError) in
            path.string.hasPrefix("b") ? FoundObject(.file, Self.version(77)) : nil
        }
        #expect(try next.intended().isEmpty)
        #expect(try rows("path LIKE 'a%'") == 0)
        #expect(try rows("path LIKE 'b%' AND object = 1") == 60 * 40)
        #expect(try rows("path LIKE 'b%' AND object = 2") == 0)
    }

    /// Long paths use no more memory than short ones before they are indexed.
    @Test(.databaseOnly) func longPathsAreSettledEarlier() throws {
        let catalog = fixture.openDatabase()
        let long = String(repeating: "p", count: 4000)
        for batch in 0..<25 {
            try catalog.record((0..<100).map { entry(UInt64(batch * 100 + $0), "\(long)\(batch)-\($0)") })
        }
        #expect(catalog.connections.arrivals.bytes < Catalog.mostArrivals.bytes)
        #expect(try rows() ?? 0 > 1500)
        #expect(try catalog.count() == 2500)
    }
}
