import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite struct ContentComparisonTests {
    private static let size = 512 << 10

    /// A store with numbered names taken by files of one size, that differ at one place.
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

    /// However many files have its size, an upload has no more read than it has brought, a few times.
    @Test(arguments: [0, size - 1]) func anUploadPaysForWhatIsRead(place: Int) throws {
        let (fixture, reads) = try fixture(60, differingAt: place)
        #expect(try fixture.publish("a", Self.content(200, differingAt: place)) == .committed("a-60"))
        // Of each file and as much of the upload itself.
        #expect(reads.total <= 2 * (60 * (4 << 10) + 4 * Self.size))
    }

    /// The last one it looks at is found; behind that, the content is stored twice rather than not at all.
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
}

/// Counts what is read of files.
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
