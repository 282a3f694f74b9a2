import Testing
import TransferClusterModel
import TransferModel
import TransferObjects
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferCluster

/// Objects that are mostly dead are copied into others.
@Suite struct RewriterTests {
    private let medium: ClusterMedium
    private let time = SharedTime()

    init() { medium = ClusterMedium(utc: { [time] in time.value }) }

    private func sweep(
        fault: @escaping @Sendable (ModelLedger.Call) -> ModelLedger.Fault? = { _ in nil }
    ) throws -> Sweeper.Report {
        try Sweeper(medium.bucket, medium.ledger(fault: fault)).sweep()
    }

    /// Stores files in one pack, and removes all but some of them.
    private func prepare(_ node: Node, keeping kept: Int = 2) throws {
        try node.publish((0..<10).map { try node.publication("\($0)", [UInt8](repeating: UInt8($0), count: 10)) })
        for number in kept..<10 { try medium.remove(try RelativePath("\(number)")) }
        time.pass(Sweeper.rewriteAge + 1)
    }

    /// A copy of the file `1` that shares its bytes, and is not published yet.
    private func copyOfOne(_ node: Node) throws -> Publication {
        let source = try node.store.reader().open(try RelativePath("1"))
        let staged = try node.store.stage(id: .random(), size: 10, filled: nil, permissions: nil, quota: nil)
        #expect(try source.share(with: staged))
        return Publication(
            staged: staged, id: .random(), path: try RelativePath("copy"), size: 10,
            digest: Node.digest(of: [UInt8](repeating: 1, count: 10)))
    }

    private func expectKept(_ kept: Int = 2) throws {
        for number in 0..<kept {
            #expect(medium.content(try RelativePath("\(number)")) == [UInt8](repeating: UInt8(number), count: 10))
        }
        #expect(medium.database.check() == [])
    }

    private func objects() -> Int { medium.bucket.contents.count }

    /// Reads one byte, into a buffer with another one.
    private static func byte(_ offset: UInt64, of content: any ReadableContent) throws -> UInt8 {
        var byte: UInt8 = 0xAA
        let count = try withUnsafeMutableBytes(of: &byte) { try content.read(into: $0, at: offset) }
        #expect(count == 1)
        return byte
    }

    @Test("The live bytes of a pack move, and the pack goes later")
    func pack() throws {
        let node = try Node(medium)
        try prepare(node)
        let reader = try node.store.reader().open(try RelativePath("1"))
        #expect(try sweep().rewritten == 1)
        try expectKept()
        #expect(objects() == 2)
        // A reader that has opened the file before reads on, also when the pack is gone.
        #expect(try Self.byte(5, of: reader) == 1)
        #expect(try sweep().rewritten == 0)
        time.pass(2 * Sweeper.epochAge)
        #expect(try sweep().unused == 1)
        try expectKept()
        #expect(try Self.byte(6, of: reader) == 1)
        #expect(objects() == 1 && medium.database.contents.objects.count == 1)
    }

    @Test("A pack of which half is live, or that is new, stays")
    func stays() throws {
        let node = try Node(medium)
        try prepare(node, keeping: 5)
        #expect(try sweep().rewritten == 0)
        try node.publish((0..<3).map { try node.publication("new\($0)", [UInt8($0)]) })
        for number in 0..<2 { try medium.remove(try RelativePath("new\(number)")) }
        let young = try Node(medium)
        try young.publish((0..<3).map { try young.publication("n\($0)", [UInt8($0)]) })
        for number in 0..<2 { try medium.remove(try RelativePath("n\(number)")) }
        #expect(try sweep().rewritten == 1)
        try expectKept(5)
        #expect(medium.content(try RelativePath("new2")) == [2])
    }

    @Test("A rebuild finds what was moved, also for copies and long files")
    func rebuild() throws {
        let node = try Node(medium)
        try prepare(node)
        let copy = try copyOfOne(node)
        let other = try node.publication("other", [5, 6, 7])
        try node.publish([copy, other, node.publication("more", [UInt8](repeating: 8, count: 40))])
        for path in ["1", "more"] { try medium.remove(try RelativePath(path)) }
        for _ in 0..<3 {
            time.pass(2 * Sweeper.epochAge)
            _ = try sweep()
        }
        let ids = try #require(medium.database.contents.nodes.values.filter { $0.file != nil }.count)
        #expect(ids == 3 && objects() <= 2)
        let before = medium.database.contents
        medium.database.restore(ModelRows())
        let report = try CatalogRebuild.run(medium.bucket, medium.ledger(), utc: { [time] in time.value })
        #expect(report.refused.isEmpty && report.unknown.isEmpty && medium.database.check() == [])
        for (path, content) in [
            ("0", [UInt8](repeating: 0, count: 10)), ("copy", [UInt8](repeating: 1, count: 10)), ("other", [5, 6, 7]),
        ] {
            #expect(medium.content(try RelativePath(path)) == content, "\(path) \(report) \(before.nodes.count)")
        }
    }

    @Test("A reader of a file with holes finds the bytes that were moved, and is refused when the file is gone")
    func readerOfHoles() throws {
        let node = try Node(medium)
        let id = UploadID.random()
        let staged = try node.store.stage(id: id, size: 30, filled: 10, permissions: nil, quota: nil)
        let bytes = [UInt8](repeating: 9, count: 10)
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 20) }
        let digest = Node.digest(of: [UInt8](repeating: 0, count: 20) + bytes)
        let path = try RelativePath("holes")
        let sparse = Publication(staged: staged, id: id, path: path, size: 30, digest: digest)
        try node.publish([sparse, node.publication("long", [UInt8](repeating: 3, count: 90))])
        try medium.remove(try RelativePath("long"))
        let readers = try (0..<2).map { _ in try node.store.reader().open(path) }
        time.pass(2 * Sweeper.epochAge)
        #expect(try sweep().rewritten == 1)
        time.pass(2 * Sweeper.epochAge)
        #expect(try sweep().unused == 1 && objects() == 1)
        #expect(try [19, 20, 29].map { try Self.byte($0, of: readers[0]) } == [0, 9, 9])
        try medium.remove(path)
        time.pass(2 * Sweeper.epochAge)
        #expect(try sweep().unused == 1 && objects() == 0)
        #expect(throws: Failure.self) { try Self.byte(20, of: readers[1]) }
    }

    @Test("Each file comes back once if the old object is still there, and by the new one alone later")
    func rebuildBeside() throws {
        let node = try Node(medium)
        try prepare(node)
        #expect(try sweep().rewritten == 1 && objects() == 2)
        for isOldThere in [true, false] {
            if !isOldThere {
                time.pass(2 * Sweeper.epochAge)
                #expect(try sweep().unused == 1 && objects() == 1)
            }
            let rows = medium.database.contents
            medium.database.restore(ModelRows())
            let report = try CatalogRebuild.run(medium.bucket, medium.ledger(), utc: { [time] in time.value })
            // The old object still has the files that were removed.
            #expect(report.files == (isOldThere ? 10 : 2) && report.renamed == 0 && report.trashed == 0)
            #expect(report.alreadyStored == (isOldThere ? 2 : 0) && report.unknown.isEmpty)
            try expectKept()
            medium.database.restore(rows)
        }
    }

    @Test("An object that is damaged does not keep others from being rewritten")
    func damaged() throws {
        let node = try Node(medium)
        try prepare(node)
        for key in medium.bucket.contents.keys { try medium.bucket.put(key, ObjectContent([[1, 2, 3]])) }
        let other = try Node(medium)
        try other.publish((0..<9).map { try other.publication("n\($0)", [UInt8($0), 1]) })
        for number in 1..<9 { try medium.remove(try RelativePath("n\(number)")) }
        time.pass(Sweeper.rewriteAge + 1)
        #expect(try sweep().rewritten == 1)
        #expect(medium.content(try RelativePath("n0")) == [0, 1])
        #expect(medium.content(try RelativePath("0")) == nil)
    }

    // MARK: Faults

    @Test("A switch whose answer is lost has been made, or is made the next time")
    func lostAnswer() throws {
        let node = try Node(medium)
        try prepare(node)
        #expect(throws: Failure.self) { try self.sweep { $0 == .rewrite ? .after : nil } }
        try expectKept()
        #expect(try sweep().rewritten == 0)
        time.pass(2 * Sweeper.epochAge)
        _ = try sweep()
        try expectKept()
        #expect(objects() == 1)
    }

    @Test("A sweeper that dies between copying and switching leaves an object that goes", arguments: [true, false])
    func crash(isConflict: Bool) throws {
        let node = try Node(medium)
        try prepare(node)
        let report = try? sweep { $0 == .rewrite ? isConflict ? .conflict : .before : nil }
        // After a conflict, the copy is deleted at once.
        #expect((report == nil) != isConflict && objects() == (isConflict ? 1 : 2))
        try expectKept()
        #expect(try sweep().rewritten == 1)
        for _ in 0..<2 {
            time.pass(2 * Sweeper.epochAge)
            _ = try sweep()
        }
        try expectKept()
        #expect(objects() == 1)
    }

    @Test("Decisions of other servers about the old place are made again")
    func beside() throws {
        let node = try Node(medium)
        try prepare(node)
        // A copy that is decided before the switch and committed after it.
        let copy = try copyOfOne(node)
        let batch = node.begin([copy])
        #expect(try sweep().rewritten == 1)
        try batch.published.settlement?.commit(batch.entries, with: nil)
        try expectKept()
        #expect(medium.content(try RelativePath("copy")) == [UInt8](repeating: 1, count: 10))
        // A removal that has seen the old place.
        try medium.remove(try RelativePath("1"))
        time.pass(2 * Sweeper.epochAge)
        _ = try sweep()
        try expectKept(1)
        #expect(medium.content(try RelativePath("copy")) == [UInt8](repeating: 1, count: 10))
    }

    @Test("A file that is removed between looking and switching keeps the pack")
    func removedMeanwhile() throws {
        let node = try Node(medium)
        try prepare(node)
        let medium = medium
        let isOver = Locked(false)
        let report = try sweep { call in
            if call == .rewrite, !isOver.withLock({ $0 }) {
                isOver.withLock { $0 = true }
                try? medium.remove((try? RelativePath("1")) ?? .trashFolder)
            }
            return nil
        }
        #expect(report.rewritten == 0 && medium.database.check() == [])
        #expect(try sweep().rewritten == 1)
        try expectKept(1)
    }

    @Test("Objects with parts of an unfinished upload stay")
    func parts() throws {
        let node = try Node(medium)
        let id = UploadID.random()
        let staged = try node.store.resume(id: id, size: 30, filled: nil, quota: nil)
        let bytes = [UInt8](repeating: 1, count: 30)
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
        let records = try #require(node.store.records)
        let epoch = try records.join(id).epoch
        try records.add(RecordedPart(0..<30, digests: []), to: id, epoch: epoch)
        try records.withdraw(5..<30, of: id, epoch: epoch)
        time.pass(Sweeper.rewriteAge + 1)
        #expect(try medium.ledger().sparse(for: 0, after: .none, limit: 9).count == 1)
        #expect(try sweep().rewritten == 0 && objects() == 1 && medium.database.check() == [])
    }
}
