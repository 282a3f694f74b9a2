import Glibc
import Testing
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct FileStoreTests {
    @Test func oneServerADirectory() throws {
        let directory = try TemporaryDirectory()
        do {
            let first = try FileStore(path: directory.path("store"))
            let error = #expect(throws: StoreError.self) { try FileStore(path: directory.path("store")) }
            #expect(error?.code == .busy)
            withExtendedLifetime(first) {}
        }
        _ = try FileStore(path: directory.path("store"))
    }

    @Test func directoriesThatWillNotDo() throws {
        let directory = try TemporaryDirectory()
        close(creat(directory.path("file"), 0o644))
        for path in ["file", "missing/store", "file/store"] {
            let error = #expect(throws: StoreError.self) { try FileStore(path: directory.path(path)) }
            #expect(error?.message.contains(directory.path(path)) ?? false)
        }
    }

    @Test func partsOfTheDeadAreFound() throws {
        let directory = try TemporaryDirectory()
        do {
            let store = try FileStore(path: directory.path("store"))
            #expect(try store.deadParts() == FileStore.DeadParts())
        }
        let number = open(directory.path("store/.transfer/incoming/x.part"), O_CREAT | O_WRONLY, 0o600)
        let content = [UInt8](repeating: 1, count: 8192)
        write(number, content, content.count)
        close(number)
        let dead = try FileStore(path: directory.path("store")).deadParts()
        #expect(dead.count == 1)
        #expect(dead.bytes >= 8192)
    }

    @Test func admission() throws {
        let box = try StoreBox()
        try box.publish("d/x", [1, 2])
        func admit(_ path: String, _ size: UInt64?, _ conflict: ConflictPolicy) throws -> Published? {
            try box.store.admit(try RelativePath(path), size: size, conflict: conflict)
        }
        #expect(try admit("d/x", 2, .skip) == .skipped)
        for policy in ConflictPolicy.allCases { #expect(try admit("d/new", 2, policy) == nil) }
        for policy in [ConflictPolicy.keepBoth, .overwrite, .fail] { #expect(try admit("d/x", 2, policy) == nil) }
        #expect(try admit("d/x", 3, .overwrite) == nil)
        #expect(throws: StoreError.self) { try admit("d/x", 3, .fail) }
        #expect(throws: StoreError.self) { try admit("d", 3, .overwrite) }
        #expect(throws: StoreError.self) { try admit("d/x/y", 3, .keepBoth) }
        #expect(box.store.holds(try RelativePath("d/x"), size: 2))
        #expect(!box.store.holds(try RelativePath("d/x"), size: 3))
        #expect(!box.store.holds(try RelativePath("d"), size: 2))
    }

    @Test func aFullDiskIsTypedAndLeavesNothing() throws {
        let directory = try TemporaryDirectory()
        mkdir(directory.path("disk"), 0o755)
        guard mount("tmpfs", directory.path("disk"), "tmpfs", 0, "size=1m") == 0 else {
            print("skipped: mounting is not allowed here")
            return
        }
        defer { umount2(directory.path("disk"), Int32(MNT_DETACH)) }
        let store = try FileStore(path: directory.path("disk/store"))
        let large = #expect(throws: StoreError.self) {
            try store.stage(id: .random(), size: 64 << 20, permissions: nil)
        }
        #expect(large?.code == .insufficientStorage)
        let unknown = try store.stage(id: .random(), size: nil, permissions: nil)
        let content = [UInt8](repeating: 1, count: 2 << 20)
        let result = content.withUnsafeBytes { bytes in
            Result { () throws(StoreError) in try unknown.write(bytes, at: 0) }
        }
        let error = #expect(throws: StoreError.self) { try result.get() }
        #expect(error?.code == .insufficientStorage)
        unknown.discard()
        #expect(StoreBox.names(in: directory.path("disk/store/.transfer/incoming")).isEmpty)
        _ = try store.stage(id: .random(), size: nil, permissions: nil)
    }

    @Test(arguments: [
        (ENOSPC, ResultCode.insufficientStorage), (EDQUOT, .quotaExceeded), (EIO, .storageFailed),
        (EROFS, .storageFailed), (EMFILE, .busy), (ENFILE, .busy), (ENOMEM, .busy), (ENAMETOOLONG, .invalidPath),
        (ELOOP, .invalidPath), (EXDEV, .invalidPath), (ENOTDIR, .pathConflict), (EFBIG, .uploadTooLarge),
        (EACCES, .storageFailed),
    ])
    func everyErrorHasItsCode(errno: Int32, code: ResultCode) {
        let error = StoreError(SystemError(errno: errno, call: "write"), doing: "write the content")
        #expect(error.code == code)
        #expect(error.message.hasPrefix("Could not write the content: "))
    }

    @Test(arguments: [
        ("photo.png", 1, "photo-1.png"), ("a/b/photo.png", 12, "a/b/photo-12.png"), ("name", 2, "name-2"),
        (".bashrc", 1, ".bashrc-1"), ("a.tar.gz", 1, "a.tar-1.gz"), ("d.d/name", 3, "d.d/name-3"),
    ])
    func numberedNames(path: String, number: Int, numbered: String) throws {
        #expect(try RelativePath(path).numbered(number).string == numbered)
    }

    @Test func aNumberedNameStaysWithinTheLimit() throws {
        let long = try RelativePath(String(repeating: "n", count: 251) + ".png")
        let numbered = try long.numbered(1234)
        #expect(numbered.name.utf8.count == 255)
        #expect(numbered.name.hasSuffix("-1234.png"))
    }
}
