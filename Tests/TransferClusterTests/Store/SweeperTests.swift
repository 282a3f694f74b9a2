import Testing
import TransferClusterModel
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCluster

/// Objects that nothing needs are deleted, and no others.
@Suite struct SweeperTests {
    private let medium: ClusterMedium
    private let time = SharedTime()

    init() {
        medium = ClusterMedium(utc: { [time] in time.value })
    }

    private func sweep() throws -> Sweeper.Report { try Sweeper(medium.bucket, medium.ledger()).sweep() }

    @Test func whatIsStoredStays() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        for _ in 0..<3 {
            time.pass(2 * Sweeper.epochAge)
            _ = try sweep()
        }
        let content = try node.content("a")
        #expect(content == [1] && medium.bucket.contents.count == 1)
    }

    /// A server dies between storing its objects and committing them.
    @Test func objectsOfADeadServerGoADayLater() throws {
        let dead = try Node(medium)
        try dead.put("a", [1])
        let batch = dead.begin([try dead.publication("b", [2])])
        #expect(medium.bucket.contents.count == 2)
        #expect(try sweep() == Sweeper.Report())
        time.pass(Sweeper.epochAge + 1)
        let report = try sweep()
        #expect(report.orphans == 1 && report.epochs == 1 && medium.bucket.contents.count == 1)
        // It was not dead, but asleep.
        #expect(throws: RecordsError.self) { try batch.published.settlement?.commit(batch.entries, with: nil) }
        #expect(medium.paths() == ["a"])
        #expect(try dead.put("b", [2]) == "b")
        #expect(try dead.content("b") == [2])
        #expect(medium.database.check() == [])
    }

    /// What only this database knows can be undone by a standby that takes its place, so nothing is deleted before the
    /// standby has it.
    @Test func nothingIsDeletedBeforeTheStandbyKnowsWhy() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        try medium.remove(try RelativePath("a"))
        let ledger = medium.ledger { $0 == .awaitDurability ? .before : nil }
        time.pass(2 * Sweeper.epochAge)
        #expect(throws: Failure.self) { try Sweeper(medium.bucket, ledger).sweep() }
        #expect(medium.bucket.contents.count == 1)
        // Now the epoch is closed, and the barrier in front of the unused objects is the next one.
        _ = try medium.ledger().closeEpochs(olderThan: Sweeper.epochAge).map {
            try medium.ledger().noteSwept($0.number)
        }
        #expect(throws: Failure.self) { try Sweeper(medium.bucket, ledger).sweep() }
        #expect(medium.bucket.contents.count == 1)
        #expect(try sweep().unused == 1 && medium.bucket.contents.isEmpty)
    }

    /// A standby that does not know that a file was removed becomes the database.
    @Test func nothingIsDeletedThatAFailOverBringsBack() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        time.pass(2 * Sweeper.epochAge)
        _ = try sweep()
        let standby = medium.database.contents
        try medium.remove(try RelativePath("a"))
        time.pass(2 * Sweeper.epochAge)
        let ledger = medium.ledger { [medium] call in
            if call == .awaitDurability { medium.database.restore(standby) }
            return nil
        }
        #expect(throws: Failure.self) { try Sweeper(medium.bucket, ledger).sweep() }
        #expect(try node.content("a") == [1])
    }

    /// The object of a removed file stays for readers, and until no commit can refer to the object any more.
    @Test func contentOfARemovedFileGoesLater() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        let reader = try node.store.reader().open(try RelativePath("a"))
        try medium.remove(try RelativePath("a"))
        time.pass(Sweeper.readerTime + 1)
        _ = try sweep()
        var byte: UInt8 = 0
        let count = try withUnsafeMutableBytes(of: &byte) { try reader.read(into: $0, at: 0) }
        #expect(count == 1 && byte == 1)
        time.pass(Sweeper.epochAge)
        let report = try sweep()
        #expect(report.unused == 1 && medium.bucket.contents.isEmpty && medium.database.contents.objects.isEmpty)
    }

    /// Two servers sweep at once: each step is right for both.
    @Test func twoSweepersDeleteTheSame() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        try node.put("b", [2])
        try medium.remove(try RelativePath("a"))
        time.pass(2 * Sweeper.epochAge)
        let reports = try [sweep(), sweep()]
        #expect(reports.map(\.unused) == [1, 0])
        let content = try node.content("b")
        #expect(content == [2] && medium.bucket.contents.count == 1)
    }
}
