import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

@Suite struct DoubtedListTests {
    private let temporary: TemporaryDirectory
    private let folder: DoubtFolder

    init() throws {
        temporary = try TemporaryDirectory(prefersMemory: true)
        folder = .own(try DirectoryHandle(path: temporary.path, on: Disk()))
    }

    private func list(_ boot: String = "now") throws -> DoubtedList { try DoubtedList(in: folder, boot: boot) }

    private static let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 1)

    /// Names that clients may use; two of them are equal as Swift strings.
    private static let named = Set(OddNames.paths.compactMap { try? RelativePath($0) })

    /// Folders that the store makes for itself, and paths in them.
    private static let own: Set<RelativePath> = {
        let folders = [RelativePath.reservedName, RelativePath.partsName].compactMap { RelativePath(own: $0) }
        let places: [RelativePath] = [.trashFolder, .mailFolder, .trash(batch, nil), .mail(.random())]
        return Set(folders + places + named.map { .trash(batch, $0) })
    }()

    private static let paths = named.union(own)

    @Test(arguments: [named, own, paths]) func whatIsWrittenIsRead(_ paths: Set<RelativePath>) throws {
        #expect(Self.named.count == OddNames.paths.count && Self.own.count == 6 + Self.named.count)
        #expect(try list().read() == [])
        try list().write(paths)
        #expect(Set(try #require(try list().read())) == paths)
        try list().write([])
        #expect(try list().read() == [] && Files.names(temporary.path).isEmpty)
    }

    @Test func tooManyAreAll() throws {
        try list().write(nil)
        #expect(try list().read() == nil)
    }

    /// The disk fails while the list is written, or returns other bytes.
    @Test func whatIsDamagedIsAll() throws {
        try list().write(Self.paths)
        let path = temporary.path("unsynced-now")
        let whole = try #require(Files.read(path))
        for count in 0..<whole.count {
            try Files.write(Array(whole[..<count]), to: path)
            #expect(try list().read() == nil, "\(count) bytes")
        }
        for content in [
            [UInt8](repeating: 0, count: whole.count), [UInt8](text: "3\n..\0"), [UInt8](text: "-1\n"),
            [UInt8](text: "0\n"), [UInt8](text: "2\n\0\0"), [UInt8](text: "2\n") + [0xFF, 0],
        ] {
            try Files.write(content, to: path)
            #expect(try list().read() == nil)
        }
    }

    @Test func listsOfOtherRunsGo() throws {
        try list("before").write(Self.paths)
        #expect(try list().read() == [])
        #expect(Files.names(temporary.path).isEmpty)
    }

    // MARK: Shared by several processes

    private func shared(_ boot: String = "now") throws -> DoubtedList {
        let parent = try DirectoryHandle(path: temporary.path, on: Disk())
        return try DoubtedList(in: .shared(PrivateFolder(["parts"], in: parent)), boot: boot)
    }

    /// Two fetches into one directory; neither knows which directories the other could not sync.
    @Test func nobodyForgetsWhatOthersDoubt() throws {
        let fetches = [DurableDirectories(try shared()), DurableDirectories(try shared())]
        let (a, b, c) = (try RelativePath("a"), try RelativePath("b"), try RelativePath("c"))
        fetches[0].doubt([a])
        fetches[1].doubt([b, c])
        #expect(Set(try #require(try shared().read())) == [a, b, c])
        // The fetch that doubted `a` has made it again; the other fetch still doubts its own directory.
        fetches[0].trust(a)
        #expect(Set(try #require(try shared().read())) == [b, c])
        fetches[1].trust(c)
        let next = DurableDirectories(try shared())
        #expect(throws: Failure.self) { try next.checkTrust(in: b) }
        for path in [a, c] { try next.checkTrust(in: path) }
        fetches[1].trust(b)
        #expect(try shared().read() == [] && Files.names(temporary.path("parts")).isEmpty)
    }

    /// A process that doubts all directories doubts them for all processes, also when others write shorter lists later.
    @Test func whoDoubtsAllDoubtsItForOthers() throws {
        let (first, second) = (try shared(), try shared())
        second.write([try RelativePath("b")], added: [try RelativePath("b")])
        first.write(nil)
        second.write([try RelativePath("c")], added: [try RelativePath("c")], removed: try RelativePath("b"))
        #expect(try shared().read() == nil)
    }

    /// Each list may be short enough, and all together too long.
    @Test func tooManyOfSeveralAreAll() throws {
        let half = DurableDirectories.most / 2 + 1
        for name in ["a", "b"] {
            DurableDirectories(try shared()).doubt(try (0..<half).map { try RelativePath("\(name)\($0)") })
        }
        #expect(try shared().read() == nil)
    }

    @Test func manyAtOnce() async throws {
        let lists = try (0..<4).map { _ in DurableDirectories(try shared()) }
        let paths = try (0..<4).map { list in try (0..<20).map { try RelativePath("\(list)-\($0)") } }
        await withTaskGroup(of: Void.self) { group in
            for (list, paths) in zip(lists, paths) {
                group.addTask { for path in paths { list.doubt([path]) } }
            }
        }
        #expect(Set(try #require(try shared().read())) == Set(paths.joined()))
    }

    // MARK: In a server

    /// A directory that could not be synced is refused also after a restart, and can be used after it was removed and
    /// made again.
    @Test func aRestartedServerRefusesTheDirectory() throws {
        let script = ScriptedDisk()
        let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
        let faulty = try StoreFixture(fileSystem: simpleDisk, script: script)
        script.start(faulty.root)
        // The first sync is that of the content.
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

    /// The first removal to the trash makes folders for the server itself, and their names are lost: that is no reason
    /// to doubt any other folder after a restart.
    @Test func aRestartedServerTakesUploadsBesideADoubtedTrash() throws {
        let script = ScriptedDisk()
        let faulty = try StoreFixture(
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), script: script,
            before: ["a": .one, "b": .two])
        script.start(faulty.root)
        script.fail(sync: 0, with: EIO)
        let editor = faulty.store.editor()
        #expect(throws: Failure.self) {
            _ = try editor.move(try RelativePath("a"), to: .trash(Self.batch, try RelativePath("a")))
            try editor.commit()
        }
        let next = try faulty.restarted(on: script.disk)
        #expect(next.store.isInDoubt)
        #expect(try next.publish("d/c", .six) == .committed("d/c"))
        #expect(try next.publish("d/c", .six, .skip) == .committed("d/c"))
        let later = next.store.editor()
        let error = #expect(throws: Failure.self) {
            _ = try later.move(try RelativePath("b"), to: .trash(Self.batch, try RelativePath("b")))
            try later.commit()
        }
        #expect(error?.code == .storageFailed)
    }

    private static func publishMail(_ fixture: StoreFixture) throws {
        var publication = try fixture.publication("a", .one)
        publication.path = .mail(publication.id)
        _ = try fixture.publish([publication])[0].get()
    }

    /// The same holds for the folder of mail, which the first upload to a recipient makes.
    @Test func aRestartedServerTakesUploadsBesideDoubtedMail() throws {
        let script = ScriptedDisk()
        let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
        let faulty = try StoreFixture(fileSystem: simpleDisk, script: script)
        script.start(faulty.root)
        script.fail(sync: 1, with: EIO)
        #expect(throws: Failure.self) { try Self.publishMail(faulty) }
        let next = try faulty.restarted(on: script.disk)
        #expect(try next.publish("d/a", .one) == .committed("d/a"))
        let error = #expect(throws: Failure.self) { try Self.publishMail(next) }
        #expect(error?.code == .storageFailed)
    }
}
