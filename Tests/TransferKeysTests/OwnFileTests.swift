import Glibc
import Testing
import TransferTestSupport

@testable import TransferSystem

@Suite struct OwnFileTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path("list") }

    init() throws {
        folder = try TemporaryDirectory()
    }

    @Test func whatIsWrittenIsRead() throws {
        let content = SplitMix64.bytes(seed: 1, 200_000)
        #expect(try OwnFile.write(content, to: path, replaces: false))
        let file = try #require(try OwnFile(reading: path, atMost: 200_000))
        #expect(file.content == content && !file.isLonger && file.isPrivate && file.isGuarded)
        #expect(file.identity == OwnFile.identity(of: path))
        #expect(names(in: folder.path) == ["list"])
    }

    @Test func replacesOnlyWhenAsked() throws {
        #expect(try OwnFile.write([1], to: path, replaces: false))
        #expect(try !OwnFile.write([2], to: path, replaces: false))
        #expect(try OwnFile(reading: path, atMost: 9)?.content == [1])
        let before = OwnFile.identity(of: path)
        #expect(try OwnFile.write([3], to: path, replaces: true))
        #expect(try OwnFile(reading: path, atMost: 9)?.content == [3])
        #expect(OwnFile.identity(of: path) != before)
        #expect(names(in: folder.path) == ["list"])
    }

    /// The file is complete at once, even if the caller syncs it later.
    @Test func whatIsNotSyncedIsWrittenAtOnce() throws {
        #expect(try OwnFile.writeUnsynced([1], to: path, replaces: false))
        #expect(try !OwnFile.writeUnsynced([2], to: path, replaces: false))
        #expect(try OwnFile(reading: path, atMost: 9)?.content == [1])
        #expect(try OwnFile.writeUnsynced([3], to: path, replaces: true))
        let file = try #require(try OwnFile(reading: path, atMost: 9))
        #expect(file.content == [3] && file.isPrivate)
        try OwnFile.sync(path)
        try OwnFile.sync(folder: folder.path)
        #expect(names(in: folder.path) == ["list"])
        #expect(throws: SystemError.self) { try OwnFile.sync(folder.path("none")) }
        #expect(throws: SystemError.self) {
            try OwnFile.writeUnsynced([1], to: folder.path("none/list"), replaces: false)
        }
    }

    @Test func readsNoMoreThanAsked() throws {
        _ = try OwnFile.write([1, 2, 3], to: path, replaces: true)
        let file = try #require(try OwnFile(reading: path, atMost: 2))
        #expect(file.content == [1, 2] && file.isLonger)
    }

    @Test func whatIsNotThereIsNothing() throws {
        #expect(try OwnFile(reading: path, atMost: 9) == nil)
        #expect(OwnFile.identity(of: path) == nil)
    }

    @Test func onlyFilesAreRead() throws {
        symlink("/etc/hostname", path)
        #expect(throws: SystemError.self) { try OwnFile(reading: path, atMost: 9) }
        mkfifo(folder.path("pipe"), 0o600)
        #expect(throws: SystemError.self) { try OwnFile(reading: folder.path("pipe"), atMost: 9) }
        #expect(throws: SystemError.self) { try OwnFile(reading: folder.path, atMost: 9) }
    }

    @Test(arguments: [(0o600, true, true), (0o644, false, true), (0o660, false, false), (0o602, false, false)])
    func whoElseCanUseIt(_ mode: UInt32, isPrivate: Bool, isGuarded: Bool) throws {
        _ = try OwnFile.write([], to: path, replaces: true)
        chmod(path, mode)
        let file = try #require(try OwnFile(reading: path, atMost: 9))
        #expect(file.isPrivate == isPrivate && file.isGuarded == isGuarded)
    }

    @Test func makesFoldersThatAreMissing() throws {
        let deep = folder.path("a/b/c")
        try OwnFile.makeFolder(deep)
        try OwnFile.makeFolder(deep)
        #expect(isDirectory(deep))
        #expect(throws: SystemError.self) { try OwnFile.makeFolder("/proc/a/b") }
    }

    /// A later process would assume that the key is durable.
    @Test func whatCannotBeMadeDurableIsNotFoundLater() throws {
        let lost = SystemError(errno: EIO, call: "fsync")
        #expect(throws: lost) {
            try OwnFile.write([1], to: path, replaces: false) { (_) throws(SystemError) in throw lost }
        }
        #expect(names(in: folder.path).isEmpty)
        #expect(throws: lost) {
            try OwnFile.makeFolder(folder.path("a/b")) { (_) throws(SystemError) in throw lost }
        }
        #expect(names(in: folder.path).isEmpty)
        #expect(try OwnFile.write([2], to: path, replaces: false))
    }

    /// If a new folder is lost, the files in it are lost.
    @Test func foldersThatAreMadeAreDurable() throws {
        var synced: [String] = []
        try OwnFile.makeFolder(folder.path("a/b/c")) { synced.append($0) }
        #expect(synced == [folder.path, folder.path("a"), folder.path("a/b")])
    }
}
