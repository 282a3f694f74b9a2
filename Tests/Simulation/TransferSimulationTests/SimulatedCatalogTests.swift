import Testing
import TransferCatalog
import TransferDatabase
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferSimulation

/// Across faults and power cuts, the simulated catalog keeps no less than SQLite does, and no more.
@Suite struct SimulatedCatalogTests {
    private static let cuts = 0..<64 as Range<UInt64>

    private static func entry(_ number: UInt64) -> CatalogEntry {
        CatalogEntry(
            id: UploadID(high: 1, low: number), state: .committed, path: "\(number)", size: 1, begun: 1, committed: 1)
    }

    /// Ids that the catalog has after calls of a server and a power cut.
    ///
    /// - Parameter seed: chooses the commits that the power cut takes.
    private static func left(
        _ seed: UInt64, _ body: (Catalog, SimulatedCatalog) throws -> Void
    ) throws -> Set<UInt64> {
        let directory = try TemporaryDirectory(prefersMemory: true)
        let simulated = try SimulatedCatalog(directory.path("catalog"))
        try body(try simulated.open(), simulated)
        var random = SplitMix64(seed: seed)
        try simulated.cutPower(&random)
        let ids = Set((0..<8).filter { simulated[UploadID(high: 1, low: $0)] != nil })
        // The next server finds the same ids.
        let next = try simulated.open()
        for id in 0..<8 as Range<UInt64> {
            #expect(try (next.entries(for: [UploadID(high: 1, low: id)])[0] != nil) == ids.contains(id))
        }
        #expect(simulated.damage == nil)
        return ids
    }

    @Test func whatHasSucceededIsNeverTaken() throws {
        for seed in Self.cuts {
            let left = try Self.left(seed) { catalog, _ in
                try catalog.record([Self.entry(0)])
                try catalog.recordUnfinished([UnfinishedUpload(id: UploadID(high: 2, low: 0), path: "u", begun: 1)])
                try catalog.record([Self.entry(1)])
                try catalog.recordUnfinished([], forgetting: [UploadID(high: 2, low: 0)])
            }
            #expect(left == [0, 1])
        }
    }

    /// A server that receives a failure does not know what is on disk. The disk never has a later commit without an
    /// earlier one.
    @Test func aCommitWhoseSyncFailedIsThereOrNot() throws {
        let kinds = try Self.cuts.map { seed in
            try Self.left(seed) { catalog, simulated in
                try catalog.record([Self.entry(0)])
                simulated.fail(2, after: 0)
                #expect(throws: RecordsError.self) { try catalog.record([Self.entry(1)]) }
                #expect(simulated.hasFailed)
            }
        }
        #expect(Set(kinds) == [[0], [0, 1]])
    }

    /// The sync of a later commit also makes the earlier commit durable.
    @Test func aLaterSyncCoversWhatHadFailed() throws {
        for seed in Self.cuts {
            let left = try Self.left(seed) { catalog, simulated in
                simulated.fail(2, after: 0)
                #expect(throws: RecordsError.self) { try catalog.record([Self.entry(0)]) }
                try catalog.record([Self.entry(1)])
            }
            #expect(left == [0, 1])
        }
    }

    @Test func aCommitThatIsNotMadeIsGone() throws {
        for kind in [0, 1] as [UInt32] {
            let left = try Self.left(0) { catalog, simulated in
                try catalog.record([Self.entry(0)])
                simulated.fail(kind, after: 0)
                #expect(throws: RecordsError.self) { try catalog.record([Self.entry(1)]) }
                try catalog.record([Self.entry(2)])
            }
            #expect(left == [0, 2])
        }
    }

    /// A power cut may take records that were made without a sync, the newest first.
    @Test func whatIsUnfinishedMayBeTaken() throws {
        let counts = try Self.cuts.map { seed in
            let directory = try TemporaryDirectory(prefersMemory: true)
            let simulated = try SimulatedCatalog(directory.path("catalog"))
            for number in 0..<3 as Range<UInt64> {
                let upload = UnfinishedUpload(id: UploadID(high: 1, low: number), path: "u", begun: Int64(number))
                try simulated.open().recordUnfinished([upload])
            }
            var random = SplitMix64(seed: seed)
            try simulated.cutPower(&random)
            let left = try simulated.open().unfinished().map(\.begun)
            #expect(left == Array(0..<Int64(left.count)))
            return left.count
        }
        #expect(Set(counts) == [0, 1, 2, 3])
    }

    /// - Parameter number: chooses whether the process dies before a commit, after a commit, or in its sync.
    @Test(arguments: [0, 1, 2] as [UInt32]) func aProcessThatDiesRecordsNothingMore(number: UInt32) throws {
        var isDead = false
        let kinds = try Self.cuts.map { seed in
            isDead = false
            return try Self.left(seed) { catalog, simulated in
                simulated.isDead = { isDead }
                simulated.die = { isDead = true }
                simulated.mayDie(number)
                #expect(throws: RecordsError.self) { try catalog.record([Self.entry(0)]) }
                #expect(isDead && !simulated.hasFailed)
                #expect(throws: RecordsError.self) { try catalog.record([Self.entry(1)]) }
                isDead = false
            }
        }
        #expect(Set(kinds) == [[[]], [[0]], [[], [0]]][Int(number)])
    }
}
