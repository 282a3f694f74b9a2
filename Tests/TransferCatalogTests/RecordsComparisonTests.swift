import Testing
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferCatalog

/// A database and records in memory give equal results, whatever calls are made.
@Suite struct RecordsComparisonTests {
    /// Both kinds of records, and the values for random calls.
    private final class Both {
        private static let ids = (1...10 as ClosedRange<UInt64>).map { UploadID(high: 3, low: $0) }
        private static let paths = [
            "a", "b", "d.x", "d/a", "d/b", "d/e/a", "d0", "n/a", "n/e/a", "n/e/e/a", "\u{E9}", "e\u{301}",
        ]
        private static let folders = [("d", "n"), ("n", "d"), ("d/e", "n/e"), ("n/e", "m"), ("m", "d/e")]
        private static let digests = [1, 2].map { Digest(.xxh128, [UInt8](repeating: $0, count: 16)) }
        private static let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 1)

        private let fixture: CatalogFixture
        private var kinds: [any UploadRecords] = []
        /// Open notes, in the form of each kind of records.
        private var noted: [[NotedChanges]] = []
        private var random: SplitMix64
        private var moments: [Int64]
        private var receipt: UInt64 = 100

        init(seed: UInt64) throws {
            (fixture, random) = (try CatalogFixture(), SplitMix64(seed: seed))
            moments = (1...2000).shuffled(using: &random)
            open()
        }

        private func open() {
            kinds = [false, true].map { isMemory in
                EachKindOfRecords.$isMemory.withValue(isMemory) { fixture.open(isDurable: false) }
            }
        }

        private func expectSame<T: Equatable>(_ what: String, _ body: (any UploadRecords) throws -> T) throws {
            let answers = try kinds.map(body)
            try #require(answers[0] == answers[1], "\(what)")
        }

        /// Makes one random call to both kinds of records.
        func step() throws {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7: try record()
            case 7: for records in kinds { try records.index() }
            case 8: try begin()
            case 9..<12: try intend()
            case 12..<14: try complete()
            case 14..<16: try resolve()
            case 16: try rot()
            case 17: try adopt()
            case 18: try keepNumber()
            default: try restart()
            }
        }

        private func pick<T>(_ all: [T]) -> T { all[Int.random(in: all.indices, using: &random)] }

        private func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

        private func some<T>(_ make: () -> T) -> [T] { (0...Int.random(in: 0...2, using: &random)).map { _ in make() } }

        /// A moment that was not used before.
        private func moment() -> Int64 { moments.popLast() ?? 0 }

        private func version() -> ContentVersion {
            ContentVersion(
                object: .random(in: 1...5, using: &random), revision: .random(in: 1...2, using: &random),
                touch: .random(in: 1...3, using: &random), size: pick([4, 4, 4, 5]))
        }

        private func found() -> FoundObject? {
            chance(3) ? nil : FoundObject(chance(3) ? .folder : .file, version())
        }

        private func entry() -> CatalogEntry {
            let version = version()
            var entry = CatalogEntry(
                id: pick(Self.ids), state: chance(3) ? .alreadyStored : .committed, path: pick(Self.paths),
                kind: pick([.file, .text]), size: version.size, digest: chance(6) ? nil : pick(Self.digests),
                isDurable: chance(2), sender: pick(["x", "y"]), client: pick([nil, 1, 2]), begun: 1,
                committed: moment(),
                run: pick([nil, 9]), version: chance(6) ? nil : version, hasReplaced: chance(4))
            guard chance(5), let path = RelativePath(stored: entry.path) else { return entry }
            let (before, after) = (self.version(), self.version())
            let moved = ContentVersion(
                object: before.object, revision: after.revision, touch: after.touch, size: after.size)
            entry.kept = KeptFile(
                place: .trash(Self.batch, path), in: Self.batch, version: .init(before: before, after: moved))
            return entry
        }

        private func record() throws {
            var entries = some(entry)
            var receipts: SignedBatch?
            if chance(2) {
                receipts = SignedBatch(
                    number: receipt, time: 1, count: entries.count, signature: [UInt8](repeating: 1, count: 64),
                    sender: "s")
                for index in entries.indices {
                    entries[index].receipt = receipt
                    receipt += 1
                }
            }
            try expectSame("record") { try $0.record(entries, with: receipts) }
        }

        private func begin() throws {
            let uploads = some {
                UnfinishedUpload(id: pick(Self.ids), path: pick(Self.paths), size: pick([nil, 5]), begun: moment())
            }
            let given = chance(3) ? [pick(Self.ids)] : []
            for records in kinds { try records.recordUnfinished(uploads, forgetting: given) }
        }

        private func intend() throws {
            let changes = some {
                let form = pick(IntendedChange.Form.allCases)
                let (path, target) = form == .folder ? pick(Self.folders) : (pick(Self.paths), pick(Self.paths))
                return IntendedChange(
                    form, path, to: target, before: version(), revision: pick([nil, 2]), at: moment())
            }
            noted.append(try kinds.map { try $0.intend(changes) })
        }

        private func move() -> PathMove {
            let (path, target) = chance(4) ? pick(Self.folders) : (pick(Self.paths), pick(Self.paths))
            let isFolder = Self.folders.contains { $0 == (path, target) }
            let object: UInt64? = isFolder ? nil : .random(in: 1...5, using: &random)
            return PathMove(path, to: target, object: object, at: chance(4) ? .min : moment())
        }

        private func link() -> PathLink {
            PathLink(pick(Self.paths), as: pick(Self.paths), before: version(), after: version(), at: moment())
        }

        private func complete() throws {
            var changes = KnownChanges()
            if chance(2) { changes.moves = some(move) }
            if chance(3) { changes.kept = some(move).filter { $0.object != nil } }
            if chance(3) { changes.links = some(link) }
            if chance(5) { changes.returned = some(link) }
            if chance(3) {
                changes.replaced = some {
                    KnownChanges.Replaced(pick(Self.paths), by: pick([nil, 1, 2]), at: moment())
                }
            }
            if chance(2) {
                changes.versions = some {
                    VersionChange(path: pick(Self.paths), before: version(), after: version())
                }
            }
            let index = noted.indices.randomElement(using: &random)
            let notes = index.map { noted[$0] } ?? [.none, .none]
            let keepsNotes = chance(2)
            for (records, notes) in zip(kinds, notes) {
                try records.complete(keepsNotes ? notes.keepingAll : notes, changes)
            }
            if let index, !keepsNotes { noted.remove(at: index) }
        }

        private struct Unknown: Error {}

        /// Resolves the notes as the next server does.
        private func resolve() throws {
            var there: [PathKey: FoundObject] = [:]
            for path in Self.paths + ["d", "n", "d/e", "n/e", "m"] { there[PathKey(path)] = found() }
            let (unknown, keepsNotes) = (chance(3) ? pick(Self.paths) : nil, chance(2))
            try expectSame("resolved") { records in
                try records.resolveIntended(keepsNotes: keepsNotes) { (path) throws(Unknown) in
                    if let unknown, path.string.hasSameBytes(as: unknown) { throw Unknown() }
                    return there[PathKey(path.string)]
                }
            }
            // Some notes of each batch may be gone.
            noted = []
        }

        private func rot() throws {
            let files = some { RottenFile(version: version(), digest: pick(Self.digests)) }
            let isWell = chance(3)
            for records in kinds {
                if isWell { try records.removeRotten(files.map(\.version)) } else { try records.add(rotten: files) }
            }
        }

        private func adopt() throws {
            var adoptions = Adoptions()
            adoptions.files = some {
                AdoptedFile(path: pick(Self.paths), digest: pick(Self.digests), version: version())
            }
            if chance(2) { adoptions.rotten = [RottenFile(version: version(), digest: pick(Self.digests))] }
            let home = KnownHome(DirectoryHome(token: 1, object: 2, touch: moment(), catalog: 3), isAdopting: true)
            let (isNew, isOver) = (chance(3), chance(2))
            for records in kinds {
                if isNew { try records.keep(home, rotten: adoptions.rotten, voidsOthers: isOver) }
                try records.adopt(adoptions)
                if isOver { try records.endAdoption() }
            }
        }

        private func keepNumber() throws {
            receipt += 50
            for records in kinds { try records.keep(receiptNumber: receipt) }
        }

        private func restart() throws {
            for records in kinds { try records.close() }
            open()
        }

        /// IDs that the records chose themselves are left out, because they differ.
        private func line(_ entry: CatalogEntry) -> String {
            var entry = entry
            if !Self.ids.contains(entry.id) { entry.id = UploadID(high: 0, low: 0) }
            return "\(entry)"
        }

        /// Compares what both know before recorded entries are indexed.
        func compare() throws {
            try expectSame("unindexed") { $0.hasUnindexed }
            try expectSame("by id") { try $0.entries(for: Self.ids) }
            try expectSame("by path") { try $0.entries(at: Self.paths).map { $0.map(line).sorted() } }
            try expectSame("intended") { try $0.intended().map(\.change) }
            try expectSame("receipts") { records in
                try (100..<receipt).map { try records.receipts(with: $0)?.uploads }
            }
            try expectSame("receipt number") { try $0.receiptNumber }
            try expectSame("rotten") { try $0.hasRotten() }
            try expectSame("home") { try $0.home() }
            for path in Self.paths { try expectSame("stored") { try $0.stored(at: path).map(line).sorted() } }
            for folder in ["d", "n", "d/e", nil] {
                let query = KnownFiles.Query(folder.flatMap { RelativePath(stored: $0) }, client: 1, sender: "x")
                try expectSame("files") { records in
                    let page = try records.files(query, after: query.prefix)
                    #expect(page.next == nil)
                    return page.files.map { "\($0.name) \($0.isOwn) \($0.isDurable) \($0.version)" }
                }
            }
        }

        /// Compares all entries that were recorded.
        func compareAll() throws {
            try expectSame("all") { records in
                var all: [String] = []
                try records.forEachEntry { all.append(line($0)) }
                return all
            }
            try expectSame("all by path") { records in
                var all: [String] = []
                try records.forEachEntryByPath { all.append(line($0)) }
                return all
            }
            try expectSame("unfinished") { try $0.unfinished() }
            try expectSame("count") { [try $0.count(), try $0.pathCount()] }
            try expectSame("totals") { try $0.totals() }
            try expectSame("paths") { try $0.paths(after: []).paths.map { Array($0.utf8) } }
            try expectSame("rotten paths") { try $0.rottenPaths().map { "\($0.path) \($0.file)" }.sorted() }
            for move in Self.folders.map({ PathMove($0.0, to: $0.1, at: 1) }) {
                try expectSame("late") { try $0.acknowledged(below: move, after: .none) }
            }
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func sayTheSame(seed: UInt64) throws {
        let both = try Both(seed: seed)
        for step in 0..<80 {
            try both.step()
            try both.compare()
            if step.isMultiple(of: 5) { try both.compareAll() }
        }
    }
}
