import Glibc
import TransferProtocol
import TransferTestSupport
import Testing

@testable import TransferStore

/// With a real, small file system; where mounting is not allowed there is nothing to test with.
@Suite struct MountedTests {
    private static let half = [UInt8](repeating: 5, count: 600 << 10)

    @Test(arguments: [false, true]) func aFullDisk(asPart: Bool) throws {
        let fixture = try StoreFixture()
        guard let disk = SmallFileSystem(fixture.temporary.path("disk")) else { return }
        do {
            let store = try FileStore(path: disk.path)
            let small = StoreFixture(temporary: fixture.temporary, store: store, name: "disk")
            #expect(try small.publish("a", Self.half, asPart: asPart) == .committed("a"))
            for policy in [ConflictPolicy.keepBoth, .overwrite] {
                #expect(try small.failure("b", Self.half, policy, asPart: asPart) == .insufficientStorage)
            }
            #expect(small.visible == ["a"])
            #expect(small.parts.isEmpty)
            unlink(small.path("a"))
            #expect(try small.publish("b", Self.half, asPart: asPart) == .committed("b"))
            #expect(Files.read(small.path("b")) == Self.half)
        }
    }

    /// Known before the first byte travels, and nothing of it stays.
    @Test func theSpaceIsReserved() throws {
        let fixture = try StoreFixture()
        guard let disk = SmallFileSystem(fixture.temporary.path("disk")) else { return }
        let small = StoreFixture(temporary: fixture.temporary, store: try FileStore(path: disk.path), name: "disk")
        let error = #expect(throws: StoreError.self) {
            try small.store.stage(id: .random(), size: UInt64(Limits.blockSize) + 1, permissions: nil)
        }
        #expect(error?.code == .insufficientStorage)
        #expect(small.parts.isEmpty)
        #expect(try small.publish("a", Self.half) == .committed("a"))
    }

    /// Memory is taken as the content comes, not when it is announced.
    @Test(arguments: ["16m", "0"]) func thereIsRoom(size: String) throws {
        let fixture = try StoreFixture()
        guard let disk = SmallFileSystem(fixture.temporary.path("disk"), size: size) else { return }
        do {
            let small = StoreFixture(temporary: fixture.temporary, store: try FileStore(path: disk.path), name: "disk")
            #expect(small.store.incoming.fileSystem.isMemory)
            let id = UploadID.random()
            let staged = try small.store.resume(id: id, size: UInt64(Limits.blockSize) + 1)
            #expect(Files.status(small.path(".transfer/incoming/\(id).part"))?.st_blocks == 0)
            staged.discard()
        }
    }

    /// A directory of the store that is another file system: a typed refusal, for a name there cannot be atomic.
    @Test(arguments: [false, true]) func anotherFileSystemInside(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        guard let disk = SmallFileSystem(fixture.path("disk")) else { return }
        for asPart in [false, true] {
            #expect(try fixture.failure("disk/a", .one, asPart: asPart) == .invalidPath)
            #expect(try fixture.failure("disk/b/a", .one, .overwrite, asPart: asPart) == .invalidPath)
        }
        #expect(Files.tree(disk.path).allSatisfy { $0.hasSuffix("/") })
        #expect(fixture.parts.isEmpty)
        #expect(try fixture.publish("a", .one) == .committed("a"))
    }

    @Test func aReadOnlyDisk() throws {
        let fixture = try StoreFixture()
        guard let disk = SmallFileSystem(fixture.temporary.path("disk")) else { return }
        let flags = UInt(MS_REMOUNT | MS_RDONLY)
        try Files.check("mount", mount("tmpfs", disk.path, "tmpfs", flags, "size=1m"))
        let error = #expect(throws: StoreError.self) { try FileStore(path: disk.path) }
        #expect(error?.code == .storageFailed)
        #expect(error?.message.contains("Read-only") == true)
    }
}
