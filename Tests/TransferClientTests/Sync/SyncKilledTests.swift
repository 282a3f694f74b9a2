import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

/// A sync that is killed knows again what it has changed, and what it has not: only somebody else's change is a conflict.
@Suite struct SyncKilledTests {
    /// Two sides of which only syncs change the target, in memory. The size of a file stands for its content.
    struct Sides {
        private static let names = ["a", "b", "c", "d"]

        private var random: SplitMix64
        private(set) var source: [String: SyncEntry] = [:]
        private(set) var target: [String: SyncEntry] = [:]
        private(set) var record: SyncRecord?

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        /// Some names get other content, another time, or become something else. No time is newer than another one for certain.
        mutating func change() throws {
            for name in Self.names where Bool.random(using: &random) {
                let time = Timestamp(seconds: .random(in: 1...6, using: &random), nanoseconds: 0)
                let form: SyncEntry.Form? =
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0: nil
                    case 1: .folder
                    case 2: .link([1])
                    default: .file(.random(in: 1...3, using: &random))
                    }
                source[name] = try form.map {
                    SyncEntry(try RelativePath(name), $0, modified: time, permissions: 0o644, ExtraAttributes())
                }
            }
        }

        /// Does what is planned, or a part of it and no more.
        ///
        /// - Returns: what is in conflict.
        mutating func sync(isKilled: Bool) -> [String] {
            var options = SyncOptions()
            options.deletes = true
            let trees = (source: Self.tree(source), target: Self.tree(target))
            var planner = SyncPlanner(trees.source, trees.target, options, record: record) { $0.size == $1.size }
            let plan = planner.run()
            guard plan.conflicts.isEmpty else { return plan.conflicts.map { "\($0.entry.path)" } }
            let next = NextRecord(trees, plan, of: .server, after: record)
            if plan.changesFiles { record = next.underWay }
            let done = Self.names.filter { _ in !isKilled || Bool.random(using: &random) }
            for name in done { target[name] = source[name] }
            guard !isKilled else { return [] }
            var outcome = SyncOutcome()
            for (_, entry) in source where entry.isFile { outcome.done[entry.path] = .init(entry) }
            record = next.record(after: outcome)
            return []
        }

        private static func tree(_ entries: [String: SyncEntry]) -> SyncTree {
            SyncTree(top: nil, Array(entries.values))
        }
    }

    @Test func whatAKilledSyncHasLeftIsNoConflict() throws {
        for seed in UInt64(0)..<2000 {
            var sides = Sides(seed: seed)
            for round in 0..<20 {
                try sides.change()
                // Without a record times decide; so the first one that ends has nothing to replace.
                let found = sides.sync(isKilled: round > 0 && round % 4 != 0)
                #expect(found == [], "seed \(seed), sync \(round)")
                if !found.isEmpty { return }
            }
        }
    }

    /// Where nothing was known before, what is older gives way to a second sync as it did to the first.
    @Test func whatTheFirstSyncMayReplaceTheSecondMay() throws {
        let path = try RelativePath("f")
        func tree(_ form: SyncEntry.Form, _ time: Int64) -> SyncTree {
            let modified = Timestamp(seconds: time, nanoseconds: 0)
            return SyncTree(
                top: nil, [SyncEntry(path, form, modified: modified, permissions: 0o644, ExtraAttributes())])
        }
        for form in [.file(2), .file(1), .folder, .link([1])] as [SyncEntry.Form] {
            let trees = (source: tree(form, 2), target: tree(.file(1), 1))
            var planner = SyncPlanner(trees.source, trees.target, SyncOptions()) { $0.size == $1.size }
            let plan = planner.run()
            let record = NextRecord(trees, plan, of: .server, after: nil).underWay
            for time in [1, 2, 3] as [Int64] {
                var again = SyncPlanner(tree(.file(3), time), trees.target, SyncOptions(), record: record) { _, _ in
                    false
                }
                #expect(again.run().conflicts.isEmpty)
            }
            // What another one has made of it meanwhile stays.
            var again = SyncPlanner(tree(.file(3), 9), tree(.file(4), 8), SyncOptions(), record: record) { _, _ in false
            }
            #expect(again.run().conflicts.count == 1)
        }
    }

    /// What is only stored beside what stays is nobody's to replace in the next sync either.
    @Test func aConflictIsStillOneAfterAKill() throws {
        let (path, other) = (try RelativePath("f"), try RelativePath("g"))
        func file(_ path: RelativePath, _ size: UInt64, _ time: Int64) -> SyncEntry {
            SyncEntry(
                path, .file(size), modified: .init(seconds: time, nanoseconds: 0), permissions: 0o644, ExtraAttributes()
            )
        }
        let source = SyncTree(top: nil, [file(path, 2, 5), file(other, 2, 5)])
        let target = SyncTree(top: nil, [file(path, 3, 6)])
        var planner = SyncPlanner(source, target, SyncOptions(), record: SyncRecord()) { $0.size == $1.size }
        let plan = planner.run()
        let record = NextRecord((source, target), plan, of: .server, after: SyncRecord()).underWay
        #expect(plan.conflicts.count == 1 && record[path] == nil)
        #expect(record[other]?[.server] == .init(sending: .init(file(other, 2, 5))) && record[other]?.common == nil)
    }

    /// A tree of one file, `f`.
    private static func tree(_ size: UInt64, _ time: Int64) throws -> SyncTree {
        let entry = SyncEntry(
            try RelativePath("f"), .file(size), modified: .init(seconds: time, nanoseconds: 0), permissions: 0o644,
            ExtraAttributes())
        return SyncTree(top: nil, [entry])
    }

    /// What one direction was about to give or to take says nothing of the other side: an edit there is nobody's to replace.
    @Test(arguments: [SyncRecord.Side.server, .here]) func theOtherDirectionKnowsNothingOfIt(side: SyncRecord.Side)
        throws
    {
        let (path, tree) = (try RelativePath("f"), Self.tree)
        var options = SyncOptions()
        options.deletes = true
        var before = SyncRecord()
        before.entries[path] = .init(common: .init(size: 1, modified: .init(seconds: 1, nanoseconds: 0)))
        // An edit travels from one side to the other, and never arrives.
        let (edited, base) = (try tree(2, 5), try tree(1, 1))
        var planner = SyncPlanner(edited, base, options, record: before, of: side) { $0.size == $1.size }
        let plan = planner.run()
        let record = NextRecord((edited, base), plan, of: side, after: before).underWay
        #expect(plan.files.count == 1)
        let opposite: SyncRecord.Side = side == .server ? .here : .server
        for source in [base, try tree(3, 9), SyncTree(top: nil)] {
            var back = SyncPlanner(source, edited, options, record: record, of: opposite) { $0.size == $1.size }
            let found = back.run()
            #expect(found.conflicts.count == 1 && found.files.isEmpty && found.removals.isEmpty)
        }
        // Into the same side it is known, on its way or there.
        for target in [base, edited] {
            var again = SyncPlanner(try tree(3, 0), target, options, record: record, of: side) { $0.size == $1.size }
            #expect(again.run().conflicts.isEmpty)
        }
    }

    /// What gave way because a sync was told so is asked about again.
    @Test func whatWasForcedIsNoLongerKnown() throws {
        let tree = Self.tree
        var forced = SyncOptions()
        forced.conflicts = .source
        for before in [nil, SyncRecord()] as [SyncRecord?] {
            var planner = SyncPlanner(try tree(2, 5), try tree(3, 6), forced, record: before) { $0.size == $1.size }
            let plan = planner.run()
            #expect(plan.files.count == 1)
            let trees = (source: try tree(2, 5), target: try tree(3, 6))
            let record = NextRecord(trees, plan, of: .server, after: before).underWay
            var again = SyncPlanner(try tree(2, 5), try tree(3, 6), SyncOptions(), record: record) {
                $0.size == $1.size
            }
            #expect(again.run().conflicts.count == 1)
        }
    }
}
