import Glibc
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Opening by name never follows a link: neither one that is there already, nor one that replaces a file between lookup
/// and opening.
@Suite struct LinkRaceTests {
    private let temporary: TemporaryDirectory
    private let race: LinkAfterALook
    private let outside: String
    private let content = [UInt8](text: "content")

    init() throws {
        temporary = try TemporaryDirectory()
        outside = temporary.path("outside")
        try Files.write(content, to: outside)
        race = LinkAfterALook("f", to: outside)
    }

    private var file: String { temporary.path("store/f") }

    /// A store with a file that has the same content as the file outside.
    private func store() throws -> FileStore {
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, fileSystem: nil, disk: race.disk)
        try Files.write(content, to: file)
        return store
    }

    @Test func aLinkIsNotOpened() throws {
        try Files.makeSymlink(temporary.path("link"), to: outside)
        let directory = try DirectoryHandle(path: temporary.path, on: Disk())
        for flags in [O_RDONLY, O_RDWR, O_RDONLY | O_NONBLOCK] {
            let error = #expect(throws: SystemError.self) { _ = try directory.openFile("link", flags: flags) }
            #expect(error?.errno == ELOOP)
        }
        try Files.makeSymlink(temporary.path("folder"), to: ".")
        let error = #expect(throws: SystemError.self) { _ = try directory.openDirectory("folder") }
        #expect(error?.errno == ELOOP)
    }

    @Test func aFetch() throws {
        let store = try store()
        race.arm(file)
        #expect(throws: Failure.self) { _ = try store.reader().open(RelativePath("f")) }
        #expect(race.hasStruck)
    }

    @Test(arguments: [false, true]) func aScrub(byPath: Bool) throws {
        _ = try store()
        let files = try StoredFiles(path: temporary.path("store"), disk: race.disk)
        let walk = files.walk()
        var place: (any ScrubFile)?
        while place == nil, let entry = walk.next() { if case .file(let found) = entry { place = found } }
        let found = try #require(place)
        race.arm(file)
        let opened = byPath ? files.open(found.path) : found.open()
        guard case .absent = opened else {
            Issue.record("\(opened)")
            return
        }
        #expect(race.hasStruck)
    }

    /// The content behind the link would be equal.
    @Test func aComparison() throws {
        let store = try store()
        let digest = content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        let target = TargetName(directory: store.tree.root, name: "f")
        let size = UInt64(content.count)
        #expect(try target.find(size: size, digest: digest) != nil)
        race.arm(file)
        #expect(try target.find(size: size, digest: digest) == nil)
        #expect(race.hasStruck)
        #expect(try target.find(size: size, digest: digest) == nil)
        #expect(Files.read(outside) == content)
    }
}
