import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite struct ContentComparisonTests {
    private static let size = 512 << 10

    /// A store in which the numbered names belong to files of one size that differ in one byte.
    private func fixture(_ count: Int, differingAt place: Int) throws -> (StoreFixture, ReadBytes) {
        let reads = ReadBytes()
        let temporary = try TemporaryDirectory(prefersMemory: true)
        let store = try FileStore(
            path: temporary.path("store"), durability: .none,
            fileSystem: FileSystem(isMemory: true, syncsAsAWhole: false), disk: reads.disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        for number in 0..<count {
            let name = number == 0 ? "a" : "a-\(number)"
            try Files.write(Self.content(number, differingAt: place), to: fixture.path(name))
        }
        return (fixture, reads)
    }

    private static func content(_ number: Int, differingAt place: Int) -> [UInt8] {
        var content = [UInt8](repeating: 7, count: size)
        content[place] = UInt8(truncatingIfNeeded: number)
        return content
    }

    /// However many files have the size of an upload, comparing them reads only a few times as many bytes as the upload
    /// has.
    @Test(arguments: [0, size - 1]) func anUploadPaysForWhatIsRead(place: Int) throws {
        let (fixture, reads) = try fixture(60, differingAt: place)
        #expect(try fixture.publish("a", Self.content(200, differingAt: place)) == .committed("a-60"))
        // The comparison reads the first page of each file, and as many bytes of the upload itself.
        #expect(reads.total <= 2 * (60 * (4 << 10) + 4 * Self.size))
    }

    /// A file with the content is found up to the last one that is compared; after that, the content is stored twice
    /// rather than refused.
    @Test func whatIsTheSameIsFound() throws {
        let (fixture, _) = try fixture(60, differingAt: 0)
        for number in [0, 1, 59] {
            let name = number == 0 ? "a" : "a-\(number)"
            #expect(try fixture.publish("a", Self.content(number, differingAt: 0)) == .alreadyStored(name))
        }
        let (other, _) = try self.fixture(60, differingAt: Self.size - 1)
        #expect(try other.publish("a", Self.content(3, differingAt: Self.size - 1)) == .alreadyStored("a-3"))
        #expect(try other.publish("a", Self.content(59, differingAt: Self.size - 1)) == .committed("a-60"))
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, (256 << 10) + 4096, (256 << 10) + 4097]) func sizes(_ size: Int) throws {
        let fixture = try StoreFixture()
        let content = SplitMix64.bytes(seed: 5, size)
        #expect(try fixture.publish("a", content) == .committed("a"))
        #expect(try fixture.publish("a", content) == .alreadyStored("a"))
        guard size > 0 else { return }
        var other = content
        other[size - 1] ^= 1
        #expect(try fixture.publish("a", other) == .committed("a-1"))
        #expect(try fixture.publish("a", other) == .alreadyStored("a-1"))
    }

    /// An upload of `size` bytes that is one hole behind `front`.
    private func hole(_ size: Int, in fixture: StoreFixture, behind front: [UInt8] = []) throws -> Publication {
        let publication = try fixture.publication("a", front)
        try publication.staged.clear(UInt64(front.count)..<UInt64(size))
        try publication.staged.trim(to: UInt64(size))
        return Publication(
            staged: publication.staged, id: publication.id, path: publication.path, size: UInt64(size),
            digest: publication.digest, conflict: .keepBoth, modified: nil, permissions: nil)
    }

    /// Holes cost their sender only a number, so the store does not read as many bytes as they claim.
    @Test func anUploadOfHolesPaysForLittle() throws {
        let (fixture, reads) = try fixture(0, differingAt: 0)
        let size = 40 << 20
        try Files.write([UInt8](repeating: 0, count: size - 1) + [1], to: fixture.path("a"))
        for number in 1..<8 { try Files.check("link", link(fixture.path("a"), fixture.path("a-\(number)"))) }
        #expect(fixture.publish([try hole(size, in: fixture)]).map { try? $0.get() } == [try .committed("a-8")])
        #expect(reads.total <= 2 * (Int(ContentComparison.mostForHoles) + 8 * (4 << 10)))
    }

    /// A file with zeros in place of holes has the same content. If comparing it would read too much, a file with holes
    /// is found after it.
    @Test func filledHolesAreTheSame() throws {
        let (fixture, _) = try fixture(0, differingAt: 0)
        let front = SplitMix64.bytes(seed: 4, 100_000)
        let small = front + [UInt8](repeating: 0, count: 1 << 20)
        try Files.write(small, to: fixture.path("a"))
        let same = fixture.publish([try hole(small.count, in: fixture, behind: front)])
        #expect(same.map { try? $0.get() } == [try .alreadyStored("a")])
        let size = Int(ContentComparison.mostForHoles) + 4 * front.count
        try Files.write(front + [UInt8](repeating: 0, count: size - front.count), to: fixture.path("a"))
        for outcome in [try PublicationOutcome.committed("a-1"), try .alreadyStored("a-1"), try .alreadyStored("a-1")] {
            let found = fixture.publish([try hole(size, in: fixture, behind: front)])
            #expect(found.map { try? $0.get() } == [outcome])
        }
    }
}

/// Counts the bytes that are read from files.
private final class ReadBytes: Sendable {
    private let count = Atomic(0)

    var total: Int { count.load(ordering: .relaxed) }

    var disk: Disk {
        Disk(
            interception: { [self] call, body in
                let result = body()
                if case .read = call { count.wrappingAdd(max(0, result), ordering: .relaxed) }
                return result
            }, dirtyBytes: { 0 })
    }
}
