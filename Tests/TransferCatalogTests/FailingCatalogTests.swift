import TransferDatabase
import CSQLite
import Testing
import TransferModel

@testable import TransferCatalog
import TransferPorts

/// Each call of SQLite fails in turn: nothing is recorded partly, and the catalog works again afterwards.
@Suite struct FailingCatalogTests {
    private static let failures: [(code: Int32, reason: RecordsError.Reason)] = [
        (SQLITE_FULL, .full), (SQLITE_IOERR, .failed), (SQLITE_IOERR | 4 << 8, .failed), (SQLITE_BUSY, .busy),
        (SQLITE_NOMEM, .unavailable), (SQLITE_CANTOPEN, .unavailable),
    ]

    private func error(_ body: () throws(RecordsError) -> Void) -> RecordsError? {
        do throws(RecordsError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: 0..<failures.count, [1, 2]) func recordingIsAllOrNothing(_ failure: Int, times: Int) throws {
        let (code, reason) = Self.failures[failure]
        let fixture = try CatalogFixture()
        let calls = FailingCalls()
        let catalog = fixture.openDatabase(calls.calls, isDurable: false)
        let before = CatalogEntry.sample(1)
        try catalog.record([before])
        for number in 0... {
            let (receipts, batch) = CatalogEntry.signed(3, from: 100)
            calls.fail(number, times: times, as: code)
            guard let error = error({ () throws(RecordsError) in try catalog.record(batch, with: receipts) }) else {
                break
            }
            calls.pass()
            #expect(error.reason == reason, "call \(number)")
            #expect(error.message.hasSuffix("."))
            #expect(try catalog.receipts(with: 100) == nil, "call \(number)")
            for entry in batch { #expect(try catalog.entry(for: entry.id) == nil, "call \(number)") }
            try catalog.record([before])
            #expect(try catalog.count() == 1, "call \(number)")
        }
        calls.pass()
        #expect(try catalog.count() == 5)
        #expect(try catalog.receipts(with: 102)?.uploads.count == 3)
        #expect(fixture.damages.isEmpty)
    }

    /// Recorded uploads stay recorded, however often indexing fails.
    @Test(arguments: 0..<failures.count, [1, 2]) func indexingLosesNothing(_ failure: Int, times: Int) throws {
        let (code, reason) = Self.failures[failure]
        let fixture = try CatalogFixture()
        let calls = FailingCalls()
        let catalog = fixture.openDatabase(calls.calls, isDurable: false)
        let entries = (0..<3).map { CatalogEntry.sample($0) }
        try catalog.record(Array(entries.prefix(2)))
        try catalog.record([entries[2]])
        for number in 0... {
            calls.fail(number, times: times, as: code)
            let error = error { () throws(RecordsError) in try catalog.index() }
            calls.pass()
            #expect(error == nil || error?.reason == reason, "call \(number)")
            for entry in entries { #expect(try catalog.entry(for: entry.id) == entry, "call \(number)") }
            if error == nil { break }
            #expect(try fixture.database().execute("SELECT count(*) FROM uploads") == 0, "call \(number)")
        }
        #expect(try fixture.database().execute("SELECT count(*) FROM uploads") == 3)
        #expect(try fixture.openDatabase().count() == 3)
    }

    @Test(arguments: 0..<failures.count) func readingSaysSo(_ failure: Int) throws {
        let (code, reason) = Self.failures[failure]
        let fixture = try CatalogFixture()
        let calls = FailingCalls()
        let catalog = fixture.openDatabase(calls.calls, isDurable: false)
        let entry = CatalogEntry.sample(1)
        try catalog.record([entry])
        for number in 0... {
            calls.fail(number, as: code)
            var found: CatalogEntry?
            let error = error { () throws(RecordsError) in
                found = try catalog.entry(for: entry.id)
                _ = try catalog.totals()
                _ = try catalog.forEachEntry { _ in }
            }
            calls.pass()
            #expect(error == nil ? found == entry : error?.reason == reason, "call \(number)")
            #expect(try catalog.entry(for: entry.id) == entry)
            if error == nil { break }
        }
    }

    /// The server starts, whichever call fails, and opens the catalog later.
    @Test(arguments: 0..<failures.count) func openingIsTriedAgain(_ failure: Int) throws {
        for number in 0... {
            let fixture = try CatalogFixture()
            let calls = FailingCalls()
            calls.fail(number, as: Self.failures[failure].code)
            let catalog = fixture.openDatabase(calls.calls, isDurable: false)
            let isOver = calls.count <= number
            calls.pass()
            try catalog.record([.sample(1)])
            #expect(try catalog.count() == 1)
            #expect(fixture.damages.isEmpty)
            #expect(fixture.openDatabase().wasEmpty == false)
            if isOver { break }
        }
    }
}
