import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Tests on a small file system that is really mounted; skipped where mounting is not allowed.
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

    /// The lack of space is known before the first byte is sent, and no part stays.
    @Test func theSpaceIsReserved() throws {
        let fixture = try StoreFixture()
        guard let disk = SmallFileSystem(fixture.temporary.path("disk")) else { return }
        let small = StoreFixture(temporary: fixture.temporary, store: try FileStore(path: disk.path), name: "disk")
        let error = #expect(throws: Failure.self) {
            try small.store.stage(id: .random(), size: UInt64(Limits.blockSize) + 1, permissions: nil)
        }
        #expect(error?.code == .insufficientStorage)
        #expect(small.parts.isEmpty)
        #expect(try small.publish("a", Self.half) == .committed("a"))
    }

    /// A file system in memory uses memory when the content is written, not when the size is declared.
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

    /// A directory inside the store that is another file system is refused with its own code, because files cannot get
    /// their names there in one step.
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

    /// A sync of the store's own file system does not cover files on a file system that is mounted inside.
    @Test func whatIsFoundOnAnotherFileSystemIsSyncedByItself() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), syncs: syncs)
        guard let disk = SmallFileSystem(fixture.path("disk")) else { return }
        defer { withExtendedLifetime(disk) {} }
        let names = (0..<Committer.groupSize + 4).map { "disk/\($0)" }
        for name in names { try Files.write(.one, to: fixture.path(name)) }
        let device = Files.status(disk.path)?.st_dev
        let synced = Locked(Set<ino_t>())
        syncs.observe { call throws(SystemError) in
            var status = stat()
            guard case .file(let number) = call, fstat(number, &status) == 0, status.st_dev == device else { return }
            synced.withLock { _ = $0.insert(status.st_ino) }
        }
        let outcomes = fixture.publish(try names.map { try fixture.publication($0, .one) })
        #expect(try outcomes.map { try $0.get() } == names.map { try .alreadyStored($0) })
        let found = Set(names.compactMap { Files.status(fixture.path($0))?.st_ino })
        #expect(found.count == names.count && synced.withLock { $0.isSuperset(of: found) })
    }

    /// The file disappears when it is unmounted, and may be the very file that the upload is read from.
    @Test func aFileThatIsMountedIsNotTheContent() throws {
        let fixture = try StoreFixture()
        let source = fixture.temporary.path("source")
        try Files.write(.one, to: source)
        try Files.write([], to: fixture.path("a"))
        guard let mount = BoundFile(source, at: fixture.path("a")) else { return }
        defer { withExtendedLifetime(mount) {} }
        #expect(Files.read(fixture.path("a")) == .one)
        #expect(try fixture.failure("a", .one, .fail) == .pathConflict)
        #expect(try fixture.publish("a", .one, .skip) == .skipped)
        #expect(try fixture.publish("a", .one) == .committed("a-1"))
        #expect(try fixture.publish("a", .one) == .alreadyStored("a-1"))
    }

    @Test func aReadOnlyDisk() throws {
        let fixture = try StoreFixture()
        guard let disk = SmallFileSystem(fixture.temporary.path("disk")) else { return }
        let flags = UInt(MS_REMOUNT | MS_RDONLY)
        try Files.check("mount", mount("tmpfs", disk.path, "tmpfs", flags, "size=1m"))
        let error = #expect(throws: Failure.self) { try FileStore(path: disk.path) }
        #expect(error?.code == .storageFailed)
        #expect(error?.message.contains("Read-only") == true)
    }
}
