import Testing
import TransferCluster
import TransferClusterModel
import TransferModel
import TransferPorts

/// The promises of the port about acknowledged uploads and rotten files, on every ledger.
@Suite struct LedgerEntryTests {
    private func sample(_ kind: TestedLedger) throws -> any ClusterLedger {
        let ledger = try kind.make()
        try ledger.apply(
            LedgerChanges(making: .folder(10, "a"), .file(20, "f", in: 10), .file(21, "g", in: 10), .file(22, "top")))
        return ledger
    }

    /// - Parameter outlived: nodes whose entries may be replaced.
    private func apply(
        _ ledger: any ClusterLedger, _ entries: EntryRow..., receipts: SignedBatch? = nil, outlived: Set<UInt64> = []
    ) throws {
        var changes = LedgerChanges().with(entries, receipts)
        changes.outlived = outlived
        for number in outlived { changes.expected[number] = 1 }
        try ledger.apply(changes)
    }

    @Test("Entries come back as they were made", arguments: TestedLedger.available)
    func roundTrip(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        let digests = [
            nil, sampleDigest(20), sampleDigest(20, .xxh128Tree), sampleDigest(21), sampleDigest(5, .sha256),
        ]
        let rows = digests.enumerated().map { index, digest in
            EntryRow(
                UInt64(index + 1), of: 20, state: index == 0 ? .alreadyStored : .committed, size: 1 << 60,
                digest: digest)
        }
        try ledger.apply(LedgerChanges().with(rows))
        let found = try ledger.entries(rows.map(\.entry.id) + [UploadID(99)])
        #expect(found.map { $0?.entry } == rows.map(\.entry.stored) + [nil])
        #expect(found.prefix(5).map { $0?.path } == rows.map { PathHash($0.entry.path) })
        #expect(found.prefix(5).allSatisfy { $0?.node == 20 })
        let numbers = found.prefix(5).compactMap { $0?.number }
        #expect(numbers == numbers.sorted() && Set(numbers).count == 5)
        #expect(
            try ledger.totals() == [
                .alreadyStored: CatalogTotals(uploads: 1, bytes: 1 << 60),
                .committed: CatalogTotals(uploads: 4, bytes: 1 << 62),
            ])
    }

    @Test("An entry replaces the one with its ID", arguments: TestedLedger.available)
    func replace(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        try apply(ledger, EntryRow(1, of: 20), EntryRow(2, of: 20))
        let before = try ledger.entries([UploadID(2)])[0]?.number ?? 0
        try apply(
            ledger, EntryRow(1, of: 21, size: 3), EntryRow(3, of: 22), EntryRow(1, of: 22, size: 4), outlived: [20])
        let found = try ledger.entries(after: 0, limit: 9)
        #expect(found.map(\.entry.id) == [UploadID(2), UploadID(3), UploadID(1)])
        #expect(found.map(\.node) == [20, 22, 22] && found.last?.entry.size == 4)
        #expect(try ledger.entries(after: before, limit: 1).map(\.entry.id) == [UploadID(3)])
        #expect(
            try ledger.entries(of: [21, 20, 99, 20]).map { $0.map(\.entry.id) } == [
                [], [UploadID(2)], [], [UploadID(2)],
            ])
    }

    @Test("An upload that was stored as another file is not stored again", arguments: TestedLedger.available)
    func storeOnce(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        try apply(ledger, EntryRow(1, of: 20))
        var changes = LedgerChanges(making: .file(23, "h", in: 10)).with([EntryRow(1, of: 23)])
        changes.expected[10] = 1
        #expect(reason { try ledger.apply(changes) } == .conflict)
        #expect(try ledger.nodes([23]) == [nil])
        (changes.outlived, changes.expected[20]) = ([20], 1)
        try ledger.apply(changes)
        #expect(try ledger.entries([UploadID(1)])[0]?.node == 23)
    }

    @Test("What a client has sent is summed up", arguments: TestedLedger.available)
    func use(_ kind: TestedLedger) throws {
        let ledger = try kind.make()
        var changes = LedgerChanges(
            making: .folder(10, "ab"), .folder(11, "c", in: 10), .folder(12, "d"), .folder(13, "e"))
        changes.made[20] = .file(20, "f", in: 11)
        changes.made[21] = .file(21, "gä", in: 11)
        changes.made[22] = .file(22, "h", in: 12)
        changes.made[23] = .file(23, "i", in: 13)
        changes.made[24] = .file(24, "j")
        try ledger.apply(changes)
        func entry(_ id: UInt64, _ node: UInt64) -> EntryRow {
            var made = EntryRow(id, of: node).entry
            made.client = node == 22 ? 5 : 4
            return EntryRow(made, node: node)
        }
        try apply(ledger, entry(1, 20), entry(2, 20), entry(3, 21), entry(4, 22), entry(5, 23), entry(6, 24))
        var use = StoredUse()
        (use.files, use.entries, use.folders) = (4, 5, 3)
        use.pathBytes = 2 * 6 + 8 + 3 + 1
        #expect(try ledger.use(of: 4, outside: []) == use)
        use.folders = 1
        #expect(try ledger.use(of: 4, outside: [10, 13, 99]) == use)
        #expect(try ledger.use(of: 6, outside: []) == StoredUse())
        #expect(try ledger.use(of: 5, outside: []).files == 1)
    }

    @Test("A file's newest 64 entries of each state are found", arguments: TestedLedger.available)
    func newest(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        let stored = (1...70).map { EntryRow($0, of: 20) }
        let again = (101...170).map { EntryRow($0, of: 20, state: .alreadyStored) }
        try ledger.apply(LedgerChanges().with(stored))
        try ledger.apply(LedgerChanges().with(again))
        let wanted = (again.suffix(64).reversed() + stored.suffix(64).reversed()).map(\.entry.id)
        #expect(try ledger.entries(of: [20])[0].map(\.entry.id) == wanted)

        try apply(ledger, EntryRow(201, of: 21))
        let page = try ledger.entries(in: 10, after: nil, limit: 5)
        #expect(page.map(\.node.number) == [20, 21])
        #expect(page.map { $0.entries.map(\.entry.id) } == [wanted, [UploadID(201)]])
        #expect(try ledger.entries(in: 10, after: PathKey("f"), limit: 5).map(\.node.number) == [21])
        #expect(try ledger.entries(in: 10, after: nil, limit: 1).map(\.node.number) == [20])
        #expect(try ledger.entries(in: NodeRow.top, after: nil, limit: 5).map { $0.entries.count } == [0])
    }

    private func batch(_ number: UInt64, _ count: Int) -> SignedBatch {
        SignedBatch(number: number, time: 5, count: count, signature: Array(0..<64), sender: "é\0")
    }

    /// What happens to an entry of a batch of receipts.
    enum Loss: CaseIterable { case replaced, removed, otherReplaced }

    @Test("Receipts are kept while all their entries are", arguments: TestedLedger.available, Loss.allCases)
    func receipts(_ kind: TestedLedger, _ loss: Loss) throws {
        let ledger = try sample(kind)
        #expect(try ledger.reserveReceipts(5) == 1)
        #expect(try ledger.reserveReceipts(1) == 6)
        #expect(try ledger.reserveReceipts(0) == 7)
        try apply(
            ledger, EntryRow(2, of: 20, receipt: 11), EntryRow(3, of: 22), EntryRow(1, of: 21, receipt: 10),
            receipts: batch(10, 2))
        try apply(ledger, EntryRow(4, of: 22, receipt: 12), receipts: batch(12, 1))
        let kept = KeptReceipts(batch(10, 2), uploads: [UploadID(1), UploadID(2)])
        #expect(try ledger.receipts(with: 10) == kept && ledger.receipts(with: 11) == kept)
        #expect(try ledger.receipts(with: 12)?.uploads == [UploadID(4)])
        #expect(try ledger.receipts(with: 13) == nil && ledger.receipts(with: 9) == nil)
        #expect(try ledger.receipts(with: .max) == nil)

        switch loss {
        case .replaced: try apply(ledger, EntryRow(2, of: 20))
        case .removed: try ledger.apply(LedgerChanges(removing: 20))
        case .otherReplaced: try apply(ledger, EntryRow(3, of: 20), outlived: [22])
        }
        #expect(try ledger.receipts(with: 10) == (loss == .otherReplaced ? kept : nil))
        #expect(try ledger.receipts(with: 12) != nil)
    }

    @Test("A batch without all its entries is not kept", arguments: TestedLedger.available)
    func incompleteReceipts(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        try apply(ledger, EntryRow(1, of: 20, receipt: 10), receipts: batch(10, 2))
        #expect(try ledger.receipts(with: 10) == nil)
        try apply(ledger, EntryRow(1, of: 20, receipt: 10), receipts: batch(10, 1))
        try apply(ledger, EntryRow(2, of: 20, receipt: 10), receipts: batch(10, 1))
        #expect(try ledger.receipts(with: 10)?.uploads == [UploadID(2)])
    }

    @Test("Marks of rot are kept for files", arguments: TestedLedger.available)
    func rotten(_ kind: TestedLedger) throws {
        let ledger = try sample(kind)
        #expect(try !ledger.hasRotten())
        try ledger.mark(rotten: [20, 21, 10, 99, 20])
        try ledger.mark(rotten: [20])
        #expect(try ledger.hasRotten())
        #expect(try ledger.rotten([20, 22]) == [20: sampleDigest(20)])
        #expect(try ledger.allRotten() == [20: sampleDigest(20), 21: sampleDigest(21)])
        #expect(try ledger.nodes([20, 22]).map { $0?.file?.isRotten } == [true, false])
        // The mark changes the file once, so a decision about the unmarked file is refused.
        #expect(try ledger.nodes([20, 22]).map { $0?.touch } == [2, 1])
        try ledger.removeMarks([21, 99])
        var changes = LedgerChanges()
        changes.sound = [20, 22]
        try ledger.apply(changes)
        #expect(try ledger.allRotten().isEmpty)
        #expect(try ledger.nodes([20, 22]).map { $0?.touch } == [3, 1])
        try ledger.awaitDurability(of: ledger.term)
    }
}
