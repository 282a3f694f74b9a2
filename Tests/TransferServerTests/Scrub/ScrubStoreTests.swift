import Glibc
import Testing
import TransferCatalog
import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// A scrub uses a store through its port alone, so it judges a store in memory like a directory.
@Suite struct ScrubStoreTests {
    private let directory: TemporaryDirectory
    private let store = MemoryScrubStore()

    init() throws {
        directory = try TemporaryDirectory()
        mkdir(directory.path(RelativePath.reservedName), 0o700)
        let paths = ["intact", "rotten", "changed", "lost", "missing", "d/e"]
        for path in paths { store.put(Array(path.utf8), at: path) }
        let catalog = Catalog(path: Catalog.path(in: directory.path), isDurable: false) { _ in }
        try catalog.record(
            try paths.map { text in
                let path = try RelativePath(text)
                let file = try #require(store.files.withLock { $0[path] })
                let digest = file.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
                return CatalogEntry(found: path, digest: digest, version: file.version, at: 1)
            })
        try catalog.close()
    }

    private func scrub(repairing: Bool = false) throws -> (summary: ScrubSummary, found: [String]) {
        let found = Locked([String]())
        var configuration = Scrub.Configuration(directory: directory.path)
        configuration.repairsCatalog = repairing
        let scrub = try Scrub(configuration, store) { finding in
            found.withLock { $0.append("\(finding.kind.rawValue) \(finding.path) \(finding.reason)") }
        }
        return (try scrub.run(), found.withLock { $0.sorted() })
    }

    private func damage() throws {
        store.put(Array("untracked".utf8), at: "untracked")
        store.put(Array("other words".utf8), at: "changed")
        try store.files.withLock { files in
            files[try RelativePath("rotten")]?.content[0] ^= 1
            files[try RelativePath("lost")]?.fault = Failure(.contentLost, "the object is gone")
            files[try RelativePath("missing")] = nil
        }
    }

    @Test func whatIsAsItWasIsIntact() throws {
        let (summary, found) = try scrub()
        #expect(summary.isWell && found.isEmpty)
        #expect(summary.intact.files == 6 && summary.unfinished == .init(files: 2, bytes: 9))
    }

    @Test(arguments: [false, true]) func whatIsNotIsTold(repairing: Bool) throws {
        try damage()
        let (summary, found) = try scrub(repairing: repairing)
        #expect(
            found == [
                "changed changed ", "missing missing ", "rotten rotten ", "unreadable lost the object is gone",
                "untracked untracked ",
            ])
        #expect(!summary.isWell && summary.intact.files == 2)
        guard repairing else { return }
        #expect(summary.repairs == .init(added: 1, updated: 1, removed: 1))
        #expect(try scrub().found == ["rotten rotten ", "unreadable lost the object is gone"])
    }

    @Test func besideAServerWhatIsNewIsOnlyCounted() throws {
        store.isBusy.withLock { $0 = true }
        store.put([1], at: "new", changed: utcNanoseconds())
        let (summary, found) = try scrub()
        #expect(found.isEmpty && summary.recent == .init(files: 1, bytes: 1))
        #expect(throws: ServerError.self) { try scrub(repairing: true) }
    }

    /// The names of a copy are made durable before the acknowledgements hold for it.
    @Test func aCopyIsAdoptedOnceItIsDurable() throws {
        try store.files.withLock { files in
            let path = try RelativePath("intact")
            files[path]?.object += 1_000
        }
        #expect(try scrub(repairing: true).summary.repairs == .init(adopted: 1))
        #expect(store.synced.withLock { $0 } == ["content of intact", "names"])
        #expect(try scrub(repairing: true).summary.repairs == .init())
    }

    /// A piece of content ends with its data or hole. The last piece is shorter than the buffer, or empty.
    @Test(arguments: [0, 1, 63, 64, 65, 128, 200]) func aDigestIsThatOfAllContent(_ count: Int) throws {
        var bytes = SplitMix64.bytes(seed: 3, count)
        for index in bytes.indices where (70..<90).contains(index) { bytes[index] = 0 }
        let content = MemoryContent(.init(object: 1, content: bytes, changed: 0), hole: 70..<90, { nil })
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
        defer { buffer.deallocate() }
        for function in DigestFunction.allCases {
            var read = 0
            let digest = try content.reread(function, through: buffer) { count in
                read += count
                return true
            }
            #expect(digest == bytes.withUnsafeBytes { ContentDigester.digest(function, $0) } && read == count)
        }
        let ended = try content.reread(.xxh128, through: buffer) { _ in false }
        #expect((ended == nil) == (count > 0))
    }
}

/// Files in memory, with the requests of a scrub.
private final class MemoryScrubStore: ScrubStore {
    struct File {
        var object: UInt64
        var content: [UInt8]
        var revision: Int64 = 1
        let changed: Int64
        var fault: Failure?

        var version: ContentVersion {
            ContentVersion(object: object, revision: revision, touch: changed, size: UInt64(content.count))
        }
    }

    struct Place: ScrubFile {
        let path: RelativePath
        let store: MemoryScrubStore

        func open() -> ScrubOpening { store.open(path) }
    }

    final class Lock: ScrubLock {}

    final class Walk: ScrubWalk {
        private let places: Locked<[Place]>

        init(_ places: [Place]) { self.places = Locked(places) }

        func next() -> ScrubEntry? { places.withLock { $0.popLast() }.map { .file($0) } }
    }

    let files = Locked([RelativePath: File]())
    let isBusy = Locked(false)
    let synced = Locked([String]())
    private let count = Locked(UInt64(0))

    /// Stores content as a new object with a new revision.
    func put(_ content: [UInt8], at path: String, changed: Int64 = 5) {
        let number = count.withLock { count in
            count += 1
            return count
        }
        guard let path = try? RelativePath(path) else { return }
        let file = File(object: number, content: content, revision: Int64(number), changed: changed)
        files.withLock { $0[path] = file }
    }

    func walk() -> any ScrubWalk { Walk(files.withLock { $0.keys.map { Place(path: $0, store: self) } }) }

    func open(_ path: RelativePath) -> ScrubOpening {
        guard let file = files.withLock({ $0[path] }) else { return .absent }
        return .file(
            MemoryContent(file, { [self] in files.withLock { $0[path]?.version } }) { [self] in
                synced.withLock { $0.append("content of \(path.string)") }
            })
    }

    func object(at path: RelativePath) throws(Failure) -> FoundObject? {
        files.withLock { $0[path] }.map { FoundObject(.file, $0.version) }
    }

    func syncNames() throws(Failure) { synced.withLock { $0.append("names") } }

    func unfinished() throws(Failure) -> UnfinishedContent {
        var found = UnfinishedContent()
        (found.count, found.bytes) = (2, 9)
        return found
    }

    func isServed() -> Bool { isBusy.withLock { $0 } }

    func lock() throws(Failure) -> any ScrubLock {
        guard !isServed() else { throw Failure(.busy, "A server is storing in memory.") }
        return Lock()
    }
}

private final class MemoryContent: ScrubContent {
    let attributes: StoredAttributes
    private let file: MemoryScrubStore.File
    private let hole: Range<Int>
    private let current: () -> ContentVersion?
    private let synced: () -> Void

    init(
        _ file: MemoryScrubStore.File, hole: Range<Int> = 0..<0, _ current: @escaping () -> ContentVersion?,
        synced: @escaping () -> Void = {}
    ) {
        (self.file, self.hole, self.current, self.synced) = (file, hole, current, synced)
        attributes = StoredAttributes(
            isDirectory: false, size: file.version.size, modified: Timestamp(seconds: 0, nanoseconds: 0),
            permissions: 0o600, version: file.version, hasGivenTime: false)
    }

    var changed: Int64 { file.changed }
    var isUnchanged: Bool { current()?.hasSameContent(as: file.version) ?? false }
    var filled: UInt64? { nil }

    func run(at offset: UInt64) -> FileHoles.Run {
        let place = Int(clamping: offset)
        if hole.contains(place) {
            let end = min(hole.upperBound, file.content.count)
            return place < end ? .init(count: UInt64(end - place), isHole: true) : .data
        }
        return place < hole.lowerBound ? .init(count: UInt64(hole.lowerBound - place), isHole: false) : .data
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
        if let fault = file.fault { throw fault }
        let bytes = file.content.dropFirst(Int(clamping: offset)).prefix(buffer.count)
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    func expectAll() {}
    func share(with staged: any StagedContent) throws(Failure) -> Bool { false }
    func sync() throws(Failure) { synced() }
    func dropMemory() {}
}
