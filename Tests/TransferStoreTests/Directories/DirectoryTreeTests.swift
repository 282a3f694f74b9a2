import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct DirectoryTreeTests {
    /// - Returns: 0 if the directory opens.
    private func errno(_ fixture: StoreFixture, _ path: String) throws -> Int32 {
        let path = try RelativePath(path)
        do throws(SystemError) {
            _ = try fixture.store.tree.open(path)
            return 0
        } catch {
            return error.errno
        }
    }

    /// - Returns: nil if the directory opens or could be made.
    private func codeOfMaking(_ fixture: StoreFixture, _ path: String) throws -> ResultCode? {
        let path = try RelativePath(path)
        do throws(Failure) {
            _ = try BatchDirectories(fixture.store.tree, fixture.store.incoming.committer).open(path)
            return nil
        } catch {
            return error.code
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
        for name in ["dir", "dir/sub"] {
            #expect(try errno(fixture, name) == 0)
            #expect(try codeOfMaking(fixture, name) == nil)
        }
        for name in links.keys.flatMap({ [$0, $0 + "/sub", $0 + "/new/sub"] }) {
            #expect(try errno(fixture, name) == ELOOP, "\(name)")
            #expect(try codeOfMaking(fixture, name) == .invalidPath, "\(name)")
        }
        for name in ["file", "file/sub", "fifo", "fifo/a/b"] {
            #expect(try errno(fixture, name) == ENOTDIR, "\(name)")
            #expect(try codeOfMaking(fixture, name) == .pathConflict, "\(name)")
        }
        #expect(try errno(fixture, "missing/a") == ENOENT)
        #expect(try codeOfMaking(fixture, "missing/a") == nil)
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

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Another process replaces a directory by a link to the outside and back, as fast as it can.
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
                    // With few threads, the other task needs a chance to run.
                    await Task.yield()
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
        // Parts whose upload failed because of the disk stay, so that they can be resumed.
        #expect(fixture.parts.allSatisfy { StagedFile.upload(ofPart: $0) != nil })
    }
}
