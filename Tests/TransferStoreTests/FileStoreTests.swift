import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct FileStoreTests {
    private func failure(_ path: String) -> Failure? {
        do throws(Failure) {
            _ = try FileStore(path: path)
            return nil
        } catch {
            return error
        }
    }

    @Test func theServersFolderIsItsOwn() throws {
        let fixture = try StoreFixture()
        #expect(Files.tree(fixture.root) == [".transfer/", ".transfer/incoming/", ".transfer/lock"])
        #expect(Files.mode(fixture.path(".transfer")).map { $0 & 0o077 } == 0)
        #expect(Files.mode(fixture.path(".transfer/incoming")).map { $0 & 0o077 } == 0)
        #expect(Files.mode(fixture.root) == 0o777 & ~fixture.store.umask)
    }

    @Test func whatIsThereStays() throws {
        let temporary = try TemporaryDirectory()
        try Files.write(.one, to: temporary.path("a"))
        let store = try FileStore(path: temporary.path)
        #expect(Files.read(temporary.path("a")) == .one)
        #expect(store.version(at: try RelativePath("a"))?.size == 3)
    }

    @Test func oneServerPerDirectory() throws {
        let temporary = try TemporaryDirectory()
        var first: FileStore? = try FileStore(path: temporary.path)
        let error = failure(temporary.path)
        #expect(error?.code == .busy)
        #expect(error?.message.contains(temporary.path) == true)
        #expect(failure(temporary.path + "/.")?.code == .busy)
        #expect(first?.umask != nil)
        first = nil
        #expect(failure(temporary.path) == nil)
    }

    @Test func notADirectory() throws {
        let temporary = try TemporaryDirectory()
        try Files.write(.one, to: temporary.path("file"))
        #expect(failure(temporary.path("file"))?.code == .storageFailed)
        #expect(failure(temporary.path("file/below"))?.code == .storageFailed)
        #expect(failure(temporary.path("missing/below"))?.code == .storageFailed)
        #expect(failure("")?.code == .storageFailed)
        #expect(failure(temporary.path + "/" + String(repeating: "n", count: 256))?.code == .storageFailed)
        #expect(Files.tree(temporary.path) == ["file"])
    }

    /// The operator may use a link to the directory; a link in place of the server's own folder is refused.
    @Test func symbolicLinks() throws {
        let temporary = try TemporaryDirectory()
        try Files.makeDirectory(temporary.path("real"))
        try Files.makeDirectory(temporary.path("elsewhere"))
        try Files.makeSymlink(temporary.path("link"), to: "real")
        #expect(failure(temporary.path("link")) == nil)
        #expect(Files.names(temporary.path("real")) == [".transfer"])
        try Files.makeDirectory(temporary.path("other"))
        try Files.makeSymlink(temporary.path("other/.transfer"), to: "../elsewhere")
        #expect(failure(temporary.path("other"))?.code == .storageFailed)
        #expect(Files.names(temporary.path("elsewhere")).isEmpty)
    }

    @Test func theMessageIsSafeToShow() {
        #expect(failure("/\u{1B}[2J/x")?.message.contains("\u{1B}") == false)
    }

    @Test func withoutPermission() throws {
        guard geteuid() != 0 else {
            print("skipped withoutPermission: root may write everywhere")
            return
        }
        let temporary = try TemporaryDirectory()
        try Files.check("chmod", chmod(temporary.path, 0o500))
        #expect(failure(temporary.path)?.code == .storageFailed)
        #expect(failure(temporary.path("below"))?.code == .storageFailed)
    }

    @Test func unfinishedUploadsAreCounted() throws {
        let fixture = try StoreFixture()
        #expect(try fixture.store.unfinished() == UnfinishedContent())
        let incoming = fixture.path(".transfer/incoming/")
        try Files.write([UInt8](repeating: 1, count: 100_000), to: incoming + "\(UploadID.random()).part")
        try Files.write([UInt8](repeating: 1, count: 5000), to: incoming + "\(UploadID.random())-1.part")
        try Files.write(.one, to: incoming + "something else")
        let unfinished = try fixture.store.unfinished()
        #expect(unfinished.count == 2)
        #expect((105_000..<200_000).contains(unfinished.bytes))
        // A second count gives the same result, because reading does not consume the folder's entries.
        #expect(try fixture.store.unfinished() == unfinished)
    }

    @Test func whatNobodyCanResumeIsRemoved() throws {
        let fixture = try StoreFixture()
        let incoming = fixture.path(".transfer/incoming/")
        let parts = ["\(UploadID.random()).part", "\(UploadID.random())-1.part", "not an id.part", "something else"]
        for name in parts { try Files.write(.one, to: incoming + name) }
        #expect(try fixture.store.removeLeftovers().count == 2)
        #expect(names(in: incoming).sorted() == [parts[0], parts[3]].sorted())
    }

    @Test func oldUploadsExpireUnlessTheyAreInUse() throws {
        let fixture = try StoreFixture()
        let incoming = fixture.path(".transfer/incoming/")
        let ids = (0..<3).map { _ in UploadID.random() }
        for id in ids { try Files.write(.six, to: incoming + "\(id).part") }
        var times = [timeval(tv_sec: 1000, tv_usec: 0), timeval(tv_sec: 1000, tv_usec: 0)]
        for id in ids[..<2] { try Files.check("utimes", utimes(incoming + "\(id).part", &times)) }
        let removed = try fixture.store.removeUnfinished(where: { $0 < 2000 }, unless: { $0 == ids[0] })
        #expect(removed.count == 1)
        #expect(removed.bytes > 0)
        #expect(names(in: incoming).sorted() == ["\(ids[0]).part", "\(ids[2]).part"].sorted())
    }
}
