import Testing
import TransferDatabase
import TransferModel

@testable import TransferCatalog
import TransferPorts

@Suite(.overEachKindOfRecords) struct KeptReceiptsTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    /// Receipts are found by each of their numbers and by no others, before they are indexed and after the catalog was
    /// opened again.
    @Test func areFoundByTheirNumbers() throws {
        let batches = [
            CatalogEntry.signed(3, from: 100), CatalogEntry.signed(1, from: 103), CatalogEntry.signed(5, from: 200),
        ]
        func check(_ catalog: any UploadRecords) throws {
            for (receipts, entries) in batches {
                let signed = entries.filter { $0.receipt != nil }
                for entry in signed {
                    let kept = try catalog.receipts(with: #require(entry.receipt))
                    #expect(kept == KeptReceipts(receipts, uploads: signed.map(\.id)))
                    #expect(try catalog.entry(for: entry.id) == entry)
                }
            }
            for number: UInt64 in [0, 99, 104, 199, 205, .max] { #expect(try catalog.receipts(with: number) == nil) }
        }
        do {
            let catalog = fixture.open()
            for (receipts, entries) in batches { try catalog.record(entries, with: receipts) }
            try check(catalog)
        }
        try check(fixture.open())
    }

    /// An earlier catalog that was lost may have used equal numbers.
    @Test func aNumberThatComesAgainIsTheLastOnes() throws {
        let catalog = fixture.open()
        let (receipts, entries) = CatalogEntry.signed(2, from: 100)
        try catalog.record(CatalogEntry.signed(2, from: 100).entries, with: receipts)
        try catalog.record(entries, with: receipts)
        #expect(try catalog.receipts(with: 101)?.uploads == entries.filter { $0.receipt != nil }.map(\.id))
    }

    @Test(.databaseOnly, arguments: ["time = -1", "version = 300", "version = -1", "uploads = x''", "uploads = x'00'"])
    func rowsThatCannotBeAreNotKnown(_ change: String) throws {
        let catalog = fixture.open()
        let (receipts, entries) = CatalogEntry.signed(2, from: 100)
        try catalog.record(entries, with: receipts)
        try fixture.database().execute("UPDATE receipts SET \(change)")
        #expect(try catalog.receipts(with: 100) == nil)
        #expect(fixture.damages.isEmpty)
    }
}
