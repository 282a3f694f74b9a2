import Testing
import TransferClusterModel
import TransferModel
import TransferObjects
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferCluster

/// A cluster whose database is lost, and made again from the bucket.
@Suite struct RebuildTests {
    private let medium: ClusterMedium
    private let time = SharedTime()

    init() { medium = ClusterMedium(utc: { [time] in time.value }) }

    private func rebuild(
        fault: @escaping @Sendable (ModelLedger.Call) -> ModelLedger.Fault? = { _ in nil }
    ) throws -> CatalogRebuild.Report {
        try CatalogRebuild.run(medium.bucket, medium.ledger(fault: fault), utc: { [time] in time.value })
    }

    private func loseDatabase() { medium.database.restore(ModelRows()) }

    private func sweepForDays() throws {
        for _ in 0..<3 {
            time.pass(2 * Sweeper.epochAge)
            _ = try Sweeper(medium.bucket, medium.ledger()).sweep()
        }
    }

    /// The files outside of the trash, by their paths.
    private func files() throws -> [PathKey: [UInt8]] {
        var files: [PathKey: [UInt8]] = [:]
        let folders = medium.folders
        for text in medium.paths() where !folders.contains(text) {
            let path = try #require(RelativePath(stored: text))
            if !path.leadsToTrash { files[PathKey(text)] = medium.content(path) }
        }
        return files
    }

    // MARK: What comes back

    @Test("Every acknowledged file comes back", arguments: 1...UInt64(12))
    func property(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let nodes = [try Node(medium), try Node(medium)]
        // With the other policies, an upload that was not stored may take the numbered name of another one.
        let policies: [ConflictPolicy] = seed % 2 == 0 ? [.keepBoth, .overwrite] : ConflictPolicy.allCases
        var ids: [UploadID: Digest] = [:]
        for _ in 0..<25 {
            time.pass(1)
            let node = nodes[Int.random(in: 0...1, using: &random)]
            if Int.random(in: 0...4, using: &random) == 0, let source = try files().keys.sorted().first {
                try copy(source.string, "copy-\(ids.count)", at: node)
                continue
            }
            let paths = ["a", "d/b", "d/é", "d/e\u{301}"].shuffled(using: &random)
            let batch = try paths.prefix(Int.random(in: 1...4, using: &random)).map { path in
                let content = [UInt8](repeating: UInt8.random(in: 0...5, using: &random), count: 3)
                return try node.publication(
                    path, Int.random(in: 0...3, using: &random) > 0 ? content : [],
                    policies.randomElement(using: &random) ?? .keepBoth)
            }
            for (publication, outcome) in zip(batch, try node.publish(batch)) {
                if (try? outcome.get().stored) != nil { ids[publication.id] = publication.digest }
            }
        }
        let (before, entries) = (try files(), try nodes[0].records.entries(for: Array(ids.keys)))
        loseDatabase()
        let report = try rebuild()
        #expect(medium.database.check() == [] && report.unknown.isEmpty && report.refused.isEmpty)
        try expect(entries.compactMap(\.self), before, exactly: seed % 2 == 0)
        try sweepForDays()
        try expect(entries.compactMap(\.self), before, exactly: seed % 2 == 0)
        #expect(medium.database.check() == [])
        // The cluster goes on, with numbers that no object has.
        let node = try Node(medium)
        try node.put("new", [9])
        #expect(try node.content("new") == [9] && medium.database.check() == [])
    }

    /// Compares the files with what was there before.
    private func expect(
        _ entries: [CatalogEntry], _ before: [PathKey: [UInt8]], exactly: Bool
    ) throws {
        let (after, node) = (try files(), try Node(medium))
        if exactly { for (path, content) in before { #expect(after[path] == content, "\(path.string)") } }
        for content in before.values { #expect(after.values.contains(content)) }
        let found = try node.records.entries(for: entries.map(\.id))
        for (entry, again) in zip(entries, found) {
            let again = try #require(again)
            #expect(again.digest == entry.digest && again.size == entry.size && again.client == entry.client)
            let content = try #require(try node.content(again.path))
            #expect(Node.digest(of: content) == entry.digest)
        }
    }

    private func copy(_ source: String, _ target: String, at node: Node) throws {
        let content = try node.store.reader().open(try RelativePath(source))
        let size = content.attributes.size
        let staged = try node.store.stage(id: .random(), size: size, filled: nil, permissions: nil, quota: nil)
        #expect(try content.share(with: staged))
        let bytes = try #require(try node.content(source))
        try node.publish([
            Publication(
                staged: staged, id: .random(), path: try RelativePath(target), size: size,
                digest: Node.digest(of: bytes))
        ])
    }

    @Test("Long files, uploads in parts and attributes come back")
    func long() throws {
        let node = try Node(medium)
        let long = [UInt8](repeating: 7, count: Int(ClusterStaged.segment)) + [1, 2, 3]
        var publication = try node.publication("long", long)
        publication.origin = UploadOrigin(.audio, sender: "s", client: 5, run: 6)
        publication.modified = Timestamp(seconds: 7, nanoseconds: 8)
        (publication.permissions, publication.keepsPermissions) = (0o777, true)
        publication.attributes = ExtraAttributes(owner: .init(user: 1, group: 2))
        try node.publish([publication])
        let id = UploadID.random()
        let staged = try node.store.resume(id: id, size: 3, filled: nil, quota: nil)
        let short: [UInt8] = [1, 2, 3]
        try short.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        let digest = Node.digest(of: [1, 2, 3])
        let records = try #require(node.store.records)
        try records.add(RecordedPart(0..<3, digests: digest.bytes), to: id, epoch: try records.join(id).epoch)
        try node.publish([
            Publication(staged: staged, id: id, path: try RelativePath("d/parts"), size: 3, digest: digest)
        ])
        let before = medium.database.contents
        loseDatabase()
        let report = try rebuild()
        #expect(report.files == 2 && report.unused == 0 && report.bytes == UInt64(long.count) + 3)
        let isSame = try node.content("long") == long
        #expect(try isSame && node.content("d/parts") == [1, 2, 3])
        let entry = try #require(try Node(medium).records.entries(for: [publication.id])[0])
        #expect(entry.kind == .audio && entry.sender == "s" && entry.client == 5 && entry.run == 6)
        for node in before.nodes.values where node.file != nil {
            let again = medium.database.contents.nodes.values.first { $0.name == node.name }
            #expect(again?.modified == node.modified && again?.permissions == node.permissions)
            #expect(again?.extra == node.extra && again?.hasGivenTime == node.hasGivenTime)
        }
        try sweepForDays()
        #expect(try node.content("d/parts") == [1, 2, 3] && medium.database.check() == [])
    }

    @Test("Replaced content is in the trash, and a file gives way to a folder of its name")
    func conflicts() throws {
        let node = try Node(medium)
        for (path, content) in [("a", 1), ("a", 2), ("b", 3), ("b", 4)] as [(String, UInt8)] {
            time.pass(1)
            try node.put(path, [content], path == "a" ? .overwrite : .keepBoth)
        }
        let changes = node.store.changes(for: nil)
        let move = PlannedChange(.move(try RelativePath("a"), to: try RelativePath("c"), replaces: false))
        changes.prepare([move])
        _ = try changes.make(move)
        try changes.commit(KnownChanges())
        time.pass(1)
        try node.put("a/d", [5])
        loseDatabase()
        let report = try rebuild()
        #expect(report.trashed == 1 && report.renamed == 2 && report.files == 5)
        #expect(try files().mapKeys() == ["a": [2], "b": [3], "b-1": [4], "a-1/d": [5]])
        let batch = try #require(try node.store.trash(below: nil).first)
        #expect(medium.content(.trash(batch, try RelativePath("a"))) == [1])
        #expect(medium.database.check() == [])
    }

    @Test("What was moved or removed comes back under its first path if its pack is there")
    func removed() throws {
        let node = try Node(medium)
        try node.publish([node.publication("a", [1]), node.publication("b", [2])])
        try node.put("c", [3])
        for path in ["a", "c"] { try medium.remove(try RelativePath(path)) }
        try sweepForDays()
        loseDatabase()
        #expect(try rebuild().files == 2)
        #expect(try files().mapKeys() == ["a": [1], "b": [2]])
    }

    @Test("A file whose bytes are gone is left out")
    func gone() throws {
        let node = try Node(medium)
        let long = [UInt8](repeating: 7, count: Int(ClusterStaged.segment)) + [1]
        // The object with the end of the long file is not rewritten, which would take the description away.
        let short = [UInt8](repeating: 2, count: 20)
        try node.publish([node.publication("a", long), node.publication("b", short)])
        try medium.remove(try RelativePath("a"))
        try sweepForDays()
        #expect(medium.bucket.contents.count == 1)
        loseDatabase()
        let report = try rebuild()
        #expect(report.gone == 1 && report.files == 1 && medium.database.check() == [])
        #expect(try files().mapKeys() == ["b": short])
    }

    @Test("Mail is left out, and its content stays")
    func mail() throws {
        let node = try Node(medium)
        var publication = try node.publication("a", [1])
        publication.path = .mail(.random())
        try node.publish([publication])
        loseDatabase()
        let report = try rebuild()
        #expect(report.mails == 1 && report.files == 0 && report.unused == 1)
        try sweepForDays()
        #expect(medium.bucket.contents.count == 1)
    }

    // MARK: What stays

    @Test("Objects that are not understood are named, and stay")
    func unknown() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        let key = try #require(medium.bucket.contents.keys.first?.text)
        let folder = key.prefix { $0 != "/" } + "/" + key.dropFirst(2).prefix { $0 != "/" }
        let digits = try #require(key.split(separator: "/").last)
        let beside = String(try #require(UInt64(digits, radix: 16)) + 1, radix: 16)
        for text in ["e/x/zz", "e/0", "e/y/\(digits)", "\(folder)/\(beside)", "\(folder)/0\(beside)"] {
            try medium.bucket.put(try #require(ObjectKey(text)), try ObjectContent([[1, 2, 3]]))
        }
        loseDatabase()
        let report = try rebuild()
        #expect(report.unknown.count == 5 && report.files == 1)
        try sweepForDays()
        #expect(medium.bucket.contents.count == 6)
        #expect(try files().mapKeys() == ["a": [1]])
    }

    @Test("A database with a file is refused")
    func refused() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        let rows = medium.database.contents
        #expect(throws: Failure.self) { try self.rebuild() }
        #expect(medium.database.contents.nodes == rows.nodes && medium.database.contents.epochs == rows.epochs)
        #expect(medium.database.contents.objects == rows.objects)
    }

    /// Until a rebuild is complete, no file that another one shares a pack with frees the pack.
    @Test("A rebuild that fails in between loses no object", arguments: [ModelLedger.Call.apply, .adopt, .open, .look])
    func interrupted(_ call: ModelLedger.Call) throws {
        let node = try Node(medium)
        for number in 0..<3 {
            time.pass(1)
            try node.publish([
                node.publication("a\(number)", [UInt8(number)]), node.publication("b\(number)", [UInt8(number)]),
            ])
        }
        let before = try files()
        for skipped in 0..<4 {
            loseDatabase()
            let count = Locked(0)
            let first = try? rebuild(fault: { made in
                guard made == call else { return nil }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number > skipped ? .after : nil
            })
            for text in ["a0", "a1", "a2"] { try? medium.remove(try RelativePath(text)) }
            try sweepForDays()
            // The next rebuild begins again, in another database or in this one.
            if first != nil || skipped % 2 == 0 { loseDatabase() }
            _ = try rebuild()
            #expect(try !ClusterNotes(medium.ledger()).isRebuilding())
            #expect(try files() == before && medium.database.check() == [])
        }
    }

    @Test("A bucket that cannot be read leaves the database empty")
    func unreadable() throws {
        try Node(medium).put("a", [1])
        loseDatabase()
        #expect(throws: Failure.self) { try CatalogRebuild.run(SilentBucket(), self.medium.ledger()) }
        #expect(medium.database.contents.nodes.isEmpty && medium.database.contents.epochs.isEmpty)
    }

    /// A bucket that lists an object, and does not answer when the object is read.
    private struct SilentBucket: ObjectStore {
        func put(_ key: ObjectKey, _ content: ObjectContent) {}
        func get(
            _ key: ObjectKey, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
        ) throws(ObjectError) { throw ObjectError(.unreachable, "The bucket does not answer.") }
        func head(_ key: ObjectKey) throws(ObjectError) -> ObjectHead {
            throw ObjectError(.unreachable, "The bucket does not answer.")
        }
        func delete(_ key: ObjectKey) {}
        func list(_ prefix: String, after last: ObjectKey?, limit: Int) -> ObjectPage {
            ObjectPage(ObjectKey("e/k/1000001").map { [ListedObject($0, size: 99)] } ?? [], isLast: true)
        }
    }

    // MARK: PostgreSQL

    @Test(
        "A database of PostgreSQL is made again",
        .enabled(if: PostgresServer.isInstalled, "\(PostgresServer.advice)"))
    func postgres() throws {
        let node = try Node(medium)
        for number in 0..<40 {
            time.pass(1)
            let content = [UInt8](repeating: UInt8(number), count: number % 5)
            try node.put("d/\(number % 7)", content, number % 3 == 0 ? .overwrite : .keepBoth)
        }
        try copy("d/1", "copy", at: node)
        let before = try files()
        let ledger = PostgresLedger(try preparedPool())
        let report = try CatalogRebuild.run(medium.bucket, ledger, utc: { [time] in time.value })
        #expect(report.refused.isEmpty && report.unknown.isEmpty)
        let configuration = ClusterStore.Configuration(server: "s")
        let store = try ClusterStore(medium.bucket, ledger, scratch: try ScratchSpace(path: nil), configuration)
        for (path, content) in before {
            let file = try store.reader().open(try RelativePath(path.string))
            var bytes = [UInt8](repeating: 0, count: content.count)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            #expect(count == content.count && bytes == content)
        }
        #expect(throws: Failure.self) { try CatalogRebuild.run(self.medium.bucket, ledger) }
        #expect(try Sweeper(medium.bucket, ledger).sweep(epochAge: -1, readerTime: -1).unused == 0)
    }
}

extension [PathKey: [UInt8]] {
    fileprivate func mapKeys() -> [String: [UInt8]] {
        [String: [UInt8]](uniqueKeysWithValues: map { ($0.key.string, $0.value) })
    }
}

/// A clock that a test sets.
final class SharedTime: Sendable {
    private let moment = Locked<Int64>(1_000_000_000_000_000_000)
    var value: Int64 { moment.withLock { $0 } }

    func pass(_ nanoseconds: Int64) { moment.withLock { $0 += nanoseconds } }
}
