import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

/// A sync after a killed one recognises what the killed one has changed and what it has not: only a change by another
/// client is a conflict.
@Suite struct SyncKilledTests {
    /// Two sides in memory. Only syncs, and files restored from the trash, change the target. The size of a file stands
    /// for its content.
    struct Sides {
        /// The entry of a name; all names of one file share the number `object`.
        struct Thing: Equatable {
            var form: SyncEntry.Form
            var time: Int64
            var object: Int
        }

        private static let names = ["a", "b", "c", "d"]

        private var random: SplitMix64
        private var source: [String: Thing] = [:]
        private var target: [String: Thing] = [:]
        private var record: SyncRecord?
        private var made = 0
        /// Entries that the last sync removed; each is still one name of a file.
        private var trash: [String: Thing] = [:]
        /// Names of restored files, which `change` leaves alone, because a change there would be a real conflict.
        private var restored: Set<String> = []

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        /// Gives some names other content, another time, another file or another form. Times are random, so that the
        /// newer file does not always win.
        mutating func change() {
            for name in Self.names where Bool.random(using: &random) && !restored.contains(name) {
                let time = Int64.random(in: 1...6, using: &random)
                switch Int.random(in: 0..<14, using: &random) {
                case 0: source[name] = nil
                case 1: source[name] = make(.folder, time)
                case 2: source[name] = make(.link([1]), time)
                case 3, 4:
                    let files = Self.names.filter { source[$0].map(Self.isFile) ?? false }
                    if let other = files.randomElement(using: &random) { source[name] = source[other] }
                case 5, 6: Self.set(time, of: name, in: &source)
                default: source[name] = make(.file(.random(in: 1...3, using: &random)), time)
                }
            }
        }

        /// A user restores files from the trash after a sync that has ended.
        mutating func restore() {
            restored = []
            for name in Self.names where Bool.random(using: &random) {
                guard let thing = trash[name], Self.isFile(thing), source[name] == nil, target[name] == nil else {
                    continue
                }
                restored.insert(name)
                target[name] = target.values.first { $0.object == thing.object } ?? thing
            }
            trash = [:]
        }

        private mutating func make(_ form: SyncEntry.Form, _ time: Int64) -> Thing {
            made += 1
            return Thing(form: form, time: time, object: made)
        }

        private static func isFile(_ thing: Thing) -> Bool { if case .file = thing.form { true } else { false } }

        /// Sets the time of a file, which all its names share.
        private static func set(_ time: Int64, of name: String, in side: inout [String: Thing]) {
            guard let object = side[name]?.object else { return }
            for name in names where side[name]?.object == object { side[name]?.time = time }
        }

        /// Performs the plan, or only a part of it if the sync is killed.
        ///
        /// - Returns: paths in conflict, or paths that differ after a complete sync.
        mutating func sync(isKilled: Bool) throws -> [String] {
            var options = SyncOptions()
            options.deletes = true
            let trees = (source: try Self.tree(source), target: try Self.tree(target))
            var planner = SyncPlanner(trees.source, trees.target, options, record: record) { $0.size == $1.size }
            let plan = planner.run()
            guard plan.conflicts.isEmpty else { return plan.conflicts.map { "\($0.entry.path)" } }
            let next = NextRecord(trees, plan, of: .server, after: record)
            if plan.changesFiles { record = next.underWay }
            var outcome = SyncOutcome()
            let phases = phases(plan)
            let last = isKilled ? Int.random(in: 0..<phases.count, using: &random) : phases.count
            for step in phases[..<last].joined() { step(&self, &outcome) }
            if isKilled { for step in phases[last] where Bool.random(using: &random) { step(&self, &outcome) } }
            guard !isKilled else { return [] }
            record = next.record(after: outcome)
            return Self.names.filter { name in
                source[name]?.form != target[name]?.form
                    || source[name].map(Self.isFile) == true && source[name]?.time != target[name]?.time
            }
        }

        private typealias Step = (inout Sides, inout SyncOutcome) -> Void

        /// The phases of a sync in order. The steps within a phase run concurrently.
        private func phases(_ plan: SyncPlan) -> [[Step]] {
            func end(_ entry: SyncEntry, _ outcome: inout SyncOutcome) {
                if entry.isFile { outcome.done[entry.path] = .init(entry) }
            }
            func remove(_ removals: [SyncPlan.Removal]) -> [Step] {
                removals.map { removal in
                    { (sides: inout Sides, outcome: inout SyncOutcome) in
                        let name = removal.entry.path.string
                        sides.trash[name] = sides.target.removeValue(forKey: name)
                        outcome.removed.insert(removal.entry.path)
                    }
                }
            }
            func bring(_ entries: [SyncEntry]) -> [Step] {
                entries.map { entry in
                    { (sides: inout Sides, outcome: inout SyncOutcome) in
                        sides.target[entry.path.string] = sides.make(entry.form, entry.modified.seconds)
                        end(entry, &outcome)
                    }
                }
            }
            let moved: [Step] = plan.moves.map { move in
                { (sides: inout Sides, outcome: inout SyncOutcome) in
                    sides.target[move.entry.path.string] = sides.target.removeValue(forKey: move.from.string)
                    end(move.entry, &outcome)
                }
            }
            let linked: [Step] = plan.hardLinks.map { link in
                { (sides: inout Sides, outcome: inout SyncOutcome) in
                    guard let first = sides.target[link.first.string], Self.isFile(first) else { return }
                    sides.target[link.entry.path.string] = first
                    end(link.entry, &outcome)
                }
            }
            let set: [Step] = plan.attributes.map { entry in
                { (sides: inout Sides, outcome: inout SyncOutcome) in
                    Self.set(entry.modified.seconds, of: entry.path.string, in: &sides.target)
                    end(entry, &outcome)
                }
            }
            return [
                remove(plan.obstacles), bring(plan.folders), moved, bring(plan.files.map(\.entry)), bring(plan.links),
                linked,
                set, remove(plan.removals),
            ]
        }

        private static func tree(_ things: [String: Thing]) throws -> SyncTree {
            let entries = try things.map { name, thing in
                let isNamed = isFile(thing) && things.values.count { $0.object == thing.object } > 1
                return SyncEntry(
                    try RelativePath(name), thing.form, modified: Timestamp(seconds: thing.time, nanoseconds: 0),
                    permissions: 0o644, ExtraAttributes(),
                    isNamed ? SyncEntry.NamedFile(high: 0, low: UInt64(thing.object)) : nil)
            }
            return SyncTree(top: nil, entries)
        }
    }

    @Test func whatAKilledSyncHasLeftIsNoConflict() throws {
        for seed in UInt64(0)..<600 {
            var sides = Sides(seed: seed)
            for round in 0..<20 {
                sides.change()
                // Without a record times decide, so the first sync is not killed and has nothing to replace.
                let isKilled = round > 0 && round % 4 != 0
                let found = try sides.sync(isKilled: isKilled)
                if !isKilled { sides.restore() }
                #expect(found == [], "seed \(seed), sync \(round)")
                if !found.isEmpty { return }
            }
        }
    }

    /// A first sync without a record replaces an older file; if it is killed, the second sync may replace the file,
    /// too.
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
            // A change by another client in the meantime is still a conflict.
            var again = SyncPlanner(tree(.file(3), 9), tree(.file(4), 8), SyncOptions(), record: record) { _, _ in false
            }
            #expect(again.run().conflicts.count == 1)
        }
    }

    /// A sync that keeps both files and is killed does not allow the next sync to replace the target's file.
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

    /// A tree with one file, `f`.
    private static func tree(_ size: UInt64, _ time: Int64) throws -> SyncTree {
        let entry = SyncEntry(
            try RelativePath("f"), .file(size), modified: .init(seconds: time, nanoseconds: 0), permissions: 0o644,
            ExtraAttributes())
        return SyncTree(top: nil, [entry])
    }

    /// A killed transfer in one direction does not allow a sync in the other direction to replace the edit.
    @Test(arguments: [SyncRecord.Side.server, .here]) func theOtherDirectionKnowsNothingOfIt(side: SyncRecord.Side)
        throws
    {
        let (path, tree) = (try RelativePath("f"), Self.tree)
        var options = SyncOptions()
        options.deletes = true
        var before = SyncRecord()
        before.entries[path] = .init(common: .init(size: 1, modified: .init(seconds: 1, nanoseconds: 0)))
        // An edit is being sent to the other side and never arrives.
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
        // A sync in the original direction recognises the file, whether the edit has arrived or not.
        for target in [base, edited] {
            var again = SyncPlanner(try tree(3, 0), target, options, record: record, of: side) { $0.size == $1.size }
            #expect(again.run().conflicts.isEmpty)
        }
    }

    /// A replacement that was forced is a conflict again if the sync is killed.
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
