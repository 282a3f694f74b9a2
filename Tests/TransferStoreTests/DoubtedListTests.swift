import Glibc
import TransferProtocol
import TransferTestSupport
import Testing

@testable import TransferStore

@Suite struct DoubtedListTests {
    private let temporary: TemporaryDirectory
    private let folder: DoubtFolder

    init() throws {
        temporary = try TemporaryDirectory()
        folder = DoubtFolder(try DirectoryHandle(path: temporary.path, on: Disk()))
    }

    private func list(_ boot: String = "now") throws -> DoubtedList { try DoubtedList(in: folder, boot: boot) }

    /// Names that are equal Swift strings, too.
    private static let paths = Set(
        ["a", "a/b", "line\nfeed", "\u{E9}", "e\u{301}"].compactMap { try? RelativePath($0) })

    @Test func whatIsWrittenIsRead() throws {
        #expect(Self.paths.count == 5)
        #expect(try list().read() == [])
        try list().write(Self.paths)
        #expect(Set(try #require(try list().read())) == Self.paths)
        try list().write([])
        #expect(try list().read() == [] && Files.names(temporary.path).isEmpty)
    }

    @Test func tooManyAreAll() throws {
        try list().write(nil)
        #expect(try list().read() == nil)
    }

    /// A disk that fails while the list is written, or gives back something else.
    @Test func whatIsDamagedIsAll() throws {
        try list().write(Self.paths)
        let path = temporary.path("unsynced-now")
        let whole = try #require(Files.read(path))
        for count in 0..<whole.count {
            try Files.write(Array(whole[..<count]), to: path)
            #expect(try list().read() == nil, "\(count) bytes")
        }
        for content in [[UInt8](repeating: 0, count: whole.count), [UInt8](text: "3\n..\0"), [UInt8](text: "-1\n")] {
            try Files.write(content, to: path)
            #expect(try list().read() == nil)
        }
    }

    @Test func listsOfOtherRunsGo() throws {
        try list("before").write(Self.paths)
        #expect(try list().read() == [])
        #expect(Files.names(temporary.path).isEmpty)
    }

    /// What could not be synced is refused also after a restart, and made anew after it was removed.
    @Test func aRestartedServerRefusesTheDirectory() throws {
        let script = ScriptedDisk()
        let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
        let faulty = try StoreFixture(fileSystem: simpleDisk, script: script)
        script.start(faulty.root)
        // The first is that of the content.
        script.fail(sync: 1, with: EIO)
        #expect(try faulty.failure("d/a", .one) == .storageFailed)
        let next = try faulty.restarted(on: script.disk)
        #expect(next.store.isInDoubt)
        #expect(try next.failure("d/b", .two) == .storageFailed)
        #expect(try next.publish("b", .two) == .committed("b"))
        TemporaryDirectory.remove(next.path("d"))
        #expect(try next.publish("d/b", .two) == .committed("d/b"))
        let last = try next.restarted(on: script.disk)
        #expect(try last.publish("d/c", .six) == .committed("d/c"))
    }
}
