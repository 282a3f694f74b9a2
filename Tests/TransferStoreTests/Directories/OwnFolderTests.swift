import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

@Suite struct OwnFolderTests {
    /// The server's own directory under a second name, as on a file system that ignores case or has short names. The
    /// test is skipped where mounting is not allowed.
    private final class OtherName {
        let path: String

        init?(_ name: String, of fixture: StoreFixture, for test: String = #function) {
            path = fixture.path(name)
            guard mkdir(path, 0o755) == 0, mount(fixture.path(".transfer"), path, nil, UInt(MS_BIND), nil) == 0 else {
                print("skipped \(test): cannot mount: \(String(cString: strerror(errno)))")
                rmdir(path)
                return nil
            }
        }

        deinit {
            umount2(path, Int32(MNT_DETACH))
            rmdir(path)
        }
    }

    @Test(arguments: [false, true]) func noOtherNameLeadsInside(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        guard let other = OtherName("TRANSF~1", of: fixture) else { return }
        let before = Files.tree(fixture.path(".transfer"))
        for name in ["TRANSF~1/x", "TRANSF~1/incoming/x", "TRANSF~1/new/x"] {
            for policy in [ConflictPolicy.keepBoth, .overwrite] {
                #expect(try fixture.failure(name, .one, policy) == .invalidPath, "\(name)")
            }
        }
        for name in ["TRANSF~1", "TRANSF~1/incoming", "TRANSF~1/lock"] {
            let path = try RelativePath(name)
            #expect(throws: Failure.self) { try fixture.store.attributes(at: path) }
            #expect(throws: Failure.self) { try fixture.store.list(path) }
            #expect(throws: Failure.self) { try fixture.store.reader().open(path) }
            #expect(throws: Failure.self) { try fixture.store.remover().begin(path, isRecursive: true, of: nil) }
        }
        // The first sync makes the files that record doubt.
        #expect(Files.tree(fixture.path(".transfer")).filter { !$0.hasPrefix("sync-") } == before)
        withExtendedLifetime(other) {}
    }

    /// A folder that is not the server's own keeps its content, also when paths in it are opened often.
    @Test func othersAreLetThrough() throws {
        let fixture = try StoreFixture()
        for round in 0..<3 { #expect(try fixture.failure("TRANSF~1/\(round)", .one) == nil) }
        #expect(fixture.visible == ["TRANSF~1/", "TRANSF~1/0", "TRANSF~1/1", "TRANSF~1/2"])
    }

    @Test(arguments: [0o770, 0o707, 0o720, 0o702] as [mode_t]) func whereOthersMayWrite(_ mode: mode_t) throws {
        let temporary = try TemporaryDirectory()
        try Files.makeDirectory(temporary.path(".transfer"))
        try Files.check("chmod", chmod(temporary.path(".transfer"), mode))
        let error = #expect(throws: Failure.self) { try FileStore(path: temporary.path) }
        #expect(error?.code == .storageFailed)
        #expect(
            error?.message.contains("other users may write in its folder .transfer; remove their write permission")
                == true)
        #expect(Files.names(temporary.path(".transfer")).isEmpty)
        try Files.check("chmod", chmod(temporary.path(".transfer"), 0o755))
        _ = try FileStore(path: temporary.path)
    }

    @Test func ofSomebodyElse() throws {
        let temporary = try TemporaryDirectory()
        try Files.makeDirectory(temporary.path(".transfer"))
        guard chown(temporary.path(".transfer"), 4242, 4242) == 0 else {
            print("skipped ofSomebodyElse: only root may give a file away")
            return
        }
        let error = #expect(throws: Failure.self) { try FileStore(path: temporary.path) }
        #expect(error?.code == .storageFailed)
        #expect(error?.message.contains("its folder .transfer belongs to another user (4242)") == true)
        #expect(Files.names(temporary.path(".transfer")).isEmpty)
    }
}
