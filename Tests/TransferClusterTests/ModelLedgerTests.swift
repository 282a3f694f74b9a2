import Testing
import TransferCluster
import TransferClusterModel
import TransferModel
import TransferPorts
import TransferSystem

/// What only the ledger in memory has: faults, and the verification of the rows.
@Suite struct ModelLedgerTests {
    @Test("A fault before a call changes nothing, a later one hides the outcome")
    func faults() throws {
        let database = ModelDatabase { 1 }
        let next = Locked<ModelLedger.Fault?>(nil)
        let ledger = ModelLedger(database) { _ in next.withLock { $0 } }
        next.withLock { $0 = .before }
        #expect(reason { try ledger.apply(LedgerChanges(making: .folder(10, "a"))) } == .unavailable)
        next.withLock { $0 = .conflict }
        #expect(reason { try ledger.apply(LedgerChanges(making: .folder(10, "a"))) } == .conflict)
        #expect(reason { _ = try ledger.uploads() } == .unavailable)
        #expect(database.contents.nodes.isEmpty)
        next.withLock { $0 = .after }
        #expect(reason { try ledger.apply(LedgerChanges(making: .folder(10, "a"))) } == .unknown)
        #expect(reason { _ = try ledger.nodes([10]) } == .unavailable)
        #expect(reason { try ledger.apply(LedgerChanges(making: .folder(10, "a"))) } == .conflict)
        next.withLock { $0 = nil }
        #expect(try ledger.nodes([10]) == [.folder(10, "a")])
    }

    @Test("Each call asks once for a fault")
    func calls() throws {
        let seen = Locked([ModelLedger.Call]())
        let ledger = ModelLedger(ModelDatabase { 1 }) { call in
            seen.withLock { $0.append(call) }
            return nil
        }
        try ledger.openSample()
        _ = try ledger.dump()
        #expect(seen.withLock { $0.first } == .open)
        #expect(seen.withLock { $0.count } == 11)
    }

    @Test("Servers of one cluster share the rows, and a restored database has the earlier ones")
    func sharing() throws {
        let database = ModelDatabase { 1 }
        let (one, two) = (ModelLedger(database), ModelLedger(database))
        try one.apply(LedgerChanges(making: .folder(10, "a")))
        let backup = database.contents
        try two.apply(LedgerChanges(making: .folder(11, "b", in: 10)))
        #expect(try one.nodes([11]) == [.folder(11, "b", in: 10)])
        database.restore(backup)
        #expect(try one.nodes([10, 11]) == [.folder(10, "a"), nil])
    }

    @Test("The clock of the database decides what is old")
    func clock() throws {
        let now = Locked<Int64>(100)
        let ledger = ModelLedger(ModelDatabase { now.withLock { $0 } })
        try ledger.openSample()
        try ledger.apply(LedgerChanges(making: .folder(10, "a")).with(ObjectRow(object(1), size: 1, live: 0)))
        now.withLock { $0 = 150 }
        #expect(try ledger.closeEpochs(olderThan: 50).isEmpty)
        #expect(try ledger.closeEpochs(olderThan: 49).map(\.number) == [sampleEpoch])
        #expect(try ledger.unused(for: 51, limit: 9).isEmpty)
        #expect(try ledger.unused(for: 50, limit: 9) == [object(1)])
    }

    /// Changes after which the rows contradict each other; a ledger cannot see that with the rows that it looks at.
    static let broken: [(LedgerChanges, String)] = [
        (LedgerChanges(making: .file(20, "f", size: 5, object: object(1))), "no row, and extents have 5"),
        (
            LedgerChanges(making: .file(20, "f", size: 5, object: object(1)))
                .with(ObjectRow(object(1), size: 5, live: 6)), "has 6 bytes, and extents have 5"
        ),
        (
            LedgerChanges(making: .folder(20, "f")).with(ObjectRow(object(1), size: 5, live: 6)),
            "6 bytes that no extent has"
        ),
        (LedgerChanges(updating: .folder(10, "a", in: 11, touch: 2)), "not below the top"),
        (LedgerChanges(making: .folder(20, "f", in: 12)), "Folder 12 of node 20 is missing"),
    ]

    @Test("Rows that contradict each other are reported", arguments: broken.indices)
    func check(_ index: Int) throws {
        let database = ModelDatabase { 1 }
        let ledger = ModelLedger(database)
        try ledger.openSample()
        try ledger.apply(LedgerChanges(making: .folder(10, "a"), .folder(11, "b", in: 10), .file(12, "c")))
        #expect(database.check().isEmpty)
        let (changes, fault) = Self.broken[index]
        try ledger.apply(changes)
        let faults = database.check()
        #expect(faults.contains { $0.contains(fault) }, "\(faults)")
    }
}
