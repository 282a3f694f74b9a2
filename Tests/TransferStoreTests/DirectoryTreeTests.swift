import Glibc
import Synchronization
import TransferProtocol
import TransferTestSupport
import TransferSystem
import Testing

@testable import TransferStore

@Suite struct DirectoryTreeTests {
    /// - Returns: 0 when it opens.
    private func errno(_ fixture: StoreFixture, _ path: String, making: Bool = false) throws -> Int32 {
        let path = try RelativePath(path)
        do throws(SystemError) {
            let tree = fixture.store.tree
            _ = making ? try tree.openOrMake(path, isDurable: { _ in false }) { _, _ in } : try tree.open(path)
            return 0
        } catch {
            return error.errno
        }
    }

    @Test(arguments: [false, true]) func bothResolversAgree(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        let outside = fixture.temporary.path("outside")
        try Files.makeDirectory(outside)
        try Files.makeDirectory(outside + "/sub")
        try Files.makeDirectory(fixture.path("dir"))
        try Files.makeDirectory(fixture.path("dir/sub"))
        try Files.write(.one, to: fixture.path("file"))
        try Files.makeFIFO(fixture.path("fifo"))
        let links = ["out": outside, "up": "..", "in": "dir", "self": "self", "dangling": "nowhere", "here": "."]
        for (name, target) in links { try Files.makeSymlink(fixture.path(name), to: target) }
        for making in [false, true] {
            #expect(try errno(fixture, "dir", making: making) == 0)
            #expect(try errno(fixture, "dir/sub", making: making) == 0)
            for name in links.keys {
                #expect(try errno(fixture, name, making: making) == ELOOP, "\(name)")
                #expect(try errno(fixture, name + "/sub", making: making) == ELOOP, "\(name)/sub")
                #expect(try errno(fixture, name + "/new/sub", making: making) == ELOOP, "\(name)/new/sub")
            }
            for name in ["file", "file/sub", "fifo", "fifo/a/b"] {
                #expect(try errno(fixture, name, making: making) == ENOTDIR, "\(name)")
            }
        }
        #expect(try errno(fixture, "missing/a") == ENOENT)
        #expect(try errno(fixture, "missing/a", making: true) == 0)
        #expect(Files.names(outside) == ["sub"])
        #expect(Files.names(fixture.temporary.path) == ["outside", "store"])
    }

    @Test(arguments: [false, true]) func throughALinkIsInvalid(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        let outside = fixture.temporary.path("outside")
        try Files.makeDirectory(outside)
        try Files.makeDirectory(fixture.path("dir"))
        try Files.makeSymlink(fixture.path("out"), to: outside)
        try Files.makeSymlink(fixture.path("in"), to: "dir")
        for path in ["out/a", "in/a", "out/b/c", "in/b/c"] {
            for policy in [ConflictPolicy.keepBoth, .overwrite, .skip, .fail] {
                #expect(try fixture.failure(path, .one, policy) == .invalidPath)
                #expect(try fixture.failure(path, .one, policy, asPart: true) == .invalidPath)
            }
        }
        #expect(Files.tree(outside).isEmpty)
        #expect(fixture.visible == ["dir/", "in", "out"])
        #expect(fixture.parts.isEmpty)
    }

    /// Every name that may not be on disk is told, from the top down, whoever made it.
    @Test(arguments: [false, true]) func whatIsNotKnownToBeDurableIsTold(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        let tree = fixture.store.tree
        try Files.makeDirectory(fixture.path("a"))
        func told(_ path: String, durable: Set<String> = []) throws -> [String: ino_t] {
            var told: [String: ino_t] = [:]
            _ = try tree.openOrMake(try RelativePath(path), isDurable: { durable.contains($0.string) }) {
                path, parent in
                var status = stat()
                fstat(parent.number, &status)
                told[path.string] = status.st_ino
            }
            return told
        }
        func inode(_ path: String) -> ino_t? { Files.status(fixture.path(path))?.st_ino }
        for _ in 0..<2 {
            let told = try told("a/b/c", durable: ["a"])
            #expect(told == ["a/b": inode("a"), "a/b/c": inode("a/b")].compactMapValues { $0 })
        }
        #expect(try told("a/b/c").keys.sorted() == ["a", "a/b", "a/b/c"])
        #expect(try told("a/b/c", durable: ["a", "a/b", "a/b/c"]).isEmpty)
        // Known once, and then removed.
        rmdir(fixture.path("a/b/c"))
        #expect(try told("a/b/c", durable: ["a", "a/b", "a/b/c"]).keys.sorted() == ["a/b/c"])
        #expect(Files.type(fixture.path("a/b/c")) == S_IFDIR)
        _ = try tree.openOrMake(nil, isDurable: { _ in false }) { _, _ in Issue.record("the top has no name in it") }
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Somebody replaces a directory by a link to the outside and back, as fast as they can.
    @Test(arguments: [false, true]) func aLinkSwappedIn(usesOpenat2: Bool) async throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        let outside = fixture.temporary.path("outside")
        try Files.makeDirectory(outside)
        try Files.makeDirectory(outside + "/sub")
        try Files.makeDirectory(fixture.path("dir"))
        let flag = Flag()
        try await withThrowingTaskGroup { group in
            group.addTask {
                while !flag.isSet.load(ordering: .relaxed) {
                    rename(fixture.path("dir"), fixture.path("kept"))
                    symlink(outside, fixture.path("dir"))
                    unlink(fixture.path("dir"))
                    rename(fixture.path("kept"), fixture.path("dir"))
                }
            }
            group.addTask {
                defer { flag.isSet.store(true, ordering: .relaxed) }
                for round in 0..<150 {
                    let code = try fixture.failure("dir/sub/f\(round)", .one, .overwrite, asPart: round % 2 == 0)
                    #expect(code == nil || code == .invalidPath || code == .storageFailed || code == .pathConflict)
                }
            }
            try await group.waitForAll()
        }
        #expect(Files.tree(outside) == ["sub/"])
        #expect(Files.names(fixture.temporary.path) == ["outside", "store"])
        #expect(fixture.parts.isEmpty)
    }
}
