import Testing
import TransferClusterModel
import TransferModel
import TransferObjects
import TransferPorts
import TransferSystem

@testable import TransferCluster

/// All content of a cluster is read and compared with the rows.
@Suite final class ContentScrubTests: Sendable {
    private let medium = ClusterMedium()
    private let findings = Locked<[ContentScrub.Finding]>([])

    private func scrub() throws -> ContentScrub.Count {
        findings.withLock { $0 = [] }
        return try scrub(CountingBucket(medium.bucket))
    }

    private func scrub(_ bucket: CountingBucket) throws -> ContentScrub.Count {
        try ContentScrub(bucket, medium.ledger()) { [self] finding in findings.withLock { $0.append(finding) } }.run()
    }

    private var found: [String: ContentScrub.Damage] {
        findings.withLock { Dictionary($0.map { ($0.path, $0.damage) }) { first, _ in first } }
    }

    private func key(ofFileAt path: String) throws -> ObjectKey {
        let rows = medium.database.contents
        let node = try #require(rows.nodes.values.first { $0.name == PathKey(path) })
        guard case .whole(let object, _)? = node.file?.content else {
            let extent = try #require(rows.extents[node.number]?.first)
            return try key(of: extent.object, in: rows)
        }
        return try key(of: object, in: rows)
    }

    private func key(of object: ObjectNumber, in rows: ModelRows) throws -> ObjectKey {
        let epoch = try #require(rows.epochs[object.epoch])
        return try #require(ObjectKey(object.key(in: epoch)))
    }

    private func change(_ key: ObjectKey, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = try #require(medium.bucket.contents[key])
        body(&bytes)
        try medium.bucket.put(key, ObjectContent([bytes]))
    }

    @Test("Sound content is intact: files of a pack by one request, long files, holes, copies and empty files")
    func sound() throws {
        let node = try Node(medium)
        try node.publish((0..<100).map { try node.publication("\($0)", [UInt8](repeating: UInt8($0), count: 100)) })
        let long = [UInt8](repeating: 7, count: Int(ClusterStaged.segment)) + [1, 2, 3]
        try node.put("long", long)
        try node.put("empty", [])
        let source = try node.store.reader().open(try RelativePath("5"))
        let staged = try node.store.stage(id: .random(), size: 100, filled: nil, permissions: nil, quota: nil)
        #expect(try source.share(with: staged))
        try node.publish([
            Publication(
                staged: staged, id: .random(), path: try RelativePath("copy"), size: 100,
                digest: Node.digest(of: [UInt8](repeating: 5, count: 100)))
        ])
        let bucket = CountingBucket(medium.bucket)
        let intact = try scrub(bucket)
        #expect(intact == .init(files: 103, bytes: UInt64(long.count) + 10_100) && found.isEmpty)
        // Few requests for the pack, and three for 16 MiB and three bytes, of which no request reads more than 8 MiB.
        #expect(bucket.gets <= 5, "\(medium.bucket.contents.count) objects")
    }

    @Test("Exactly the files whose bytes differ are named and marked, until they are whole again")
    func damaged() throws {
        let node = try Node(medium)
        try node.publish((0..<10).map { try node.publication("\($0)", [UInt8](repeating: UInt8($0), count: 100)) })
        let key = try key(ofFileAt: "3")
        try change(key) { $0[350] ^= 1 }
        #expect(try scrub().files == 9)
        #expect(found.count == 1)
        guard case .otherContent? = found["3"] else { return #expect(Bool(false), "\(found)") }
        #expect(try medium.ledger().allRotten().count == 1)
        // A later upload of the content replaces the damaged file.
        let outcome = try node.publish([node.publication("3", [UInt8](repeating: 3, count: 100))])[0].get()
        guard case .healed(let path, _) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(path.string == "3" && medium.content(path) == [UInt8](repeating: 3, count: 100))
        // A file that is whole again loses its mark.
        try change(key) { $0[450] ^= 1 }
        #expect(try scrub().files == 9 && Set(found.keys) == ["4"])
        try change(key) { $0[450] ^= 1 }
        #expect(try scrub().files == 10 && found.isEmpty)
        #expect(try medium.ledger().allRotten().isEmpty && medium.database.check() == [])
    }

    @Test("Files without their object are missing, and those behind the end of a short one are unreadable")
    func lost() throws {
        let node = try Node(medium)
        let long = [UInt8](repeating: 7, count: Int(ClusterStaged.segment)) + [1]
        try node.put("long", long)
        try node.publish((0..<10).map { try node.publication("\($0)", [UInt8](repeating: UInt8($0), count: 100)) })
        try medium.bucket.delete(try key(ofFileAt: "long"))
        try change(try key(ofFileAt: "3")) { $0 = Array($0.prefix(750)) }
        #expect(try scrub() == .init(files: 7, bytes: 700))
        #expect(Set(found.keys) == ["long", "7", "8", "9"])
        guard case .missing? = found["long"], case .unreadable? = found["7"] else {
            return #expect(Bool(false), "\(found)")
        }
        #expect(try medium.ledger().allRotten().count == 4)
    }

    @Test("What is removed or moved to another object while it is read is not damaged", arguments: [true, false])
    func beside(isRemoved: Bool) throws {
        let node = try Node(medium)
        try node.publish((0..<10).map { try node.publication("\($0)", [UInt8](repeating: UInt8($0), count: 10)) })
        for number in 2..<10 { try medium.remove(try RelativePath("\(number)")) }
        let bucket = CountingBucket(medium.bucket) { [medium] in
            // The engine does what takes servers an hour.
            let sweeper = Sweeper(medium.bucket, medium.ledger())
            for number in isRemoved ? 0..<2 : 0..<0 {
                try? medium.remove((try? RelativePath("\(number)")) ?? .trashFolder)
            }
            for _ in 0..<2 { _ = try? sweeper.sweep(epochAge: -1, readerTime: -1, rewriteAge: -1) }
        }
        #expect(try scrub(bucket).files == (isRemoved ? 0 : 2) && found.isEmpty)
        #expect(try medium.ledger().allRotten().isEmpty && medium.database.check() == [])
    }

    @Test("A bucket that does not answer marks nothing")
    func unreachable() throws {
        let node = try Node(medium)
        try node.put("a", [1])
        let bucket = CountingBucket(medium.bucket, error: ObjectError(.unreachable, "The engine does not answer."))
        #expect(throws: Failure.self) { try self.scrub(bucket) }
        #expect(try medium.ledger().allRotten().isEmpty && found.isEmpty)
    }
}

/// A bucket that counts the requests that read.
private final class CountingBucket: ObjectStore {
    private let bucket: MemoryBucket
    private let error: ObjectError?
    private let count = Locked(0)
    private let first: @Sendable () -> Void

    /// - Parameter first: called before the first request.
    init(_ bucket: MemoryBucket, error: ObjectError? = nil, first: @escaping @Sendable () -> Void = {}) {
        (self.bucket, self.error, self.first) = (bucket, error, first)
    }

    var gets: Int { count.withLock { $0 } }

    func get(
        _ key: ObjectKey, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ObjectError) {
        let number = count.withLock { count in
            count += 1
            return count
        }
        if number == 1 { first() }
        if let error { throw error }
        try bucket.get(key, range, into: buffer)
    }

    func put(_ key: ObjectKey, _ content: ObjectContent) throws(ObjectError) { try bucket.put(key, content) }

    func head(_ key: ObjectKey) throws(ObjectError) -> ObjectHead { try bucket.head(key) }

    func delete(_ key: ObjectKey) throws(ObjectError) { try bucket.delete(key) }

    func list(_ prefix: String, after last: ObjectKey?, limit: Int) throws(ObjectError) -> ObjectPage {
        try bucket.list(prefix, after: last, limit: limit)
    }
}
