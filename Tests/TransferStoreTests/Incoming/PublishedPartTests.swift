import CLinux
import Glibc
import Synchronization
import Testing
import TransferCodec
import TransferModel
import TransferPorts
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A server dies after it has published a part and before the upload is recorded: the next server has the content still
/// for its client, which has let go of it if it sends a stream.
@Suite struct PublishedPartTests {
    private static let content = SplitMix64.bytes(seed: 6, Limits.blockSize + 777)

    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private var incoming: [String] { Files.names(fixture.path(".transfer/incoming")).sorted() }

    /// Publishes a part. Nothing records the upload.
    private func publish(
        _ path: String = "a", _ content: [UInt8] = content, conflict: ConflictPolicy = .keepBoth
    ) throws -> Publication {
        var publication = try fixture.publication(path, content, asPart: true)
        publication.conflict = conflict
        _ = try fixture.publish([publication])[0].get()
        return publication
    }

    private func restarted(on script: ScriptedDisk = ScriptedDisk()) throws -> FileStore {
        try fixture.restarted(on: script.disk).store
    }

    private func read(_ staged: StagedFile) throws -> [UInt8] {
        let size = Int(try staged.disk.status(staged.number).st_size)
        return try staged.disk.readAll(staged.number, most: size + 1)
    }

    @Test func theNextServerHasItAsAPart() throws {
        let publication = try publish()
        let id = publication.id
        #expect(fixture.parts.isEmpty && incoming == ["\(id).published"])
        let store = try restarted()
        #expect(store.hasPart(id))
        let staged = try store.resume(id: id, size: nil)
        #expect(!staged.isNew)
        #expect(try read(staged) == Self.content)
        #expect(store.incoming.parts.load(ordering: .relaxed) == 1)
        let again = Publication(
            staged: staged, id: id, path: publication.path, size: publication.size, digest: publication.digest)
        let outcomes = store.publish([again]).outcomes.map { $0.map(\.withoutIdentity) }
        #expect(outcomes == [.success(try .alreadyStored("a"))])
        #expect(fixture.visible == ["a"] && fixture.parts.isEmpty)
        #expect(store.incoming.parts.load(ordering: .relaxed) == 0)
        store.forgetPublished(id)
        #expect(incoming.isEmpty && !store.hasPart(id))
    }

    /// Content that was there already is not named again, and the part is discarded.
    @Test func alsoIfTheContentWasThereBefore() throws {
        try fixture.publish("a", Self.content)
        let id = try publish().id
        #expect(fixture.visible == ["a"] && fixture.parts.isEmpty)
        #expect(try read(restarted().resume(id: id, size: nil)) == Self.content)
    }

    @Test func alsoUnderANumberedName() throws {
        try fixture.publish("a", SplitMix64.bytes(seed: 7, Self.content.count))
        let id = try publish().id
        #expect(fixture.visible == ["a", "a-1"])
        #expect(try read(restarted().resume(id: id, size: nil)) == Self.content)
    }

    /// Many files with its size, such as images of one kind of disk, do not hide it.
    @Test func alsoAmongManyOfItsSize() throws {
        for number in 0..<9 {
            try fixture.publish("a", SplitMix64.bytes(seed: UInt64(20 + number), Self.content.count))
        }
        let id = try publish().id
        #expect(fixture.visible.contains("a-9"))
        #expect(try read(restarted().resume(id: id, size: nil)) == Self.content)
    }

    /// The copy leaves the free space that the operator wants.
    @Test func aCopyLeavesTheLeastFreeSpace() throws {
        let id = try publish().id
        fixture.store.unlock()
        let store = try FileStore(path: fixture.root, limits: SpaceLimits(minimumFree: 1 << 60))
        #expect(throws: Failure.self) { try store.resume(id: id, size: nil) }
        #expect(incoming == ["\(id).published"])
    }

    @Test(arguments: [ConflictPolicy.overwrite, .fail, .skip]) func underEachPolicy(policy: ConflictPolicy) throws {
        let id = try publish(conflict: policy).id
        #expect(try read(restarted().resume(id: id, size: nil)) == Self.content)
    }

    /// A file that is something else by now is neither handed out nor looked for again.
    @Test(arguments: [Limits.blockSize + 777, 5, nil]) func aFileThatHasChangedIsNotThePart(size: Int?) throws {
        let id = try publish().id
        if let size {
            try Files.write(SplitMix64.bytes(seed: 8, size), to: fixture.path("a"))
        } else {
            #expect(unlink(fixture.path("a")) == 0)
        }
        let store = try restarted()
        let staged = try store.resume(id: id, size: nil)
        #expect(staged.isNew && incoming == ["\(id).part"])
    }

    @Test func aRecordedUploadLeavesNothing() throws {
        let id = try publish().id
        fixture.store.forgetPublished(id)
        #expect(incoming.isEmpty && !fixture.store.hasPart(id))
        fixture.store.forgetPublished(id)
        #expect(try restarted().resume(id: id, size: nil).isNew)
    }

    /// Append uploads have a sheet, and whole uploads have nothing that could be resumed.
    @Test func onlyPartsAreNoted() throws {
        try fixture.publish("whole", Self.content)
        let (id, digest) = (UploadID.random(), Self.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
        let file = try fixture.store.makeAppendable(id: id, size: nil, declaration: [1])
        try Self.content.withUnsafeBytes { try file.content.write($0, at: 0) }
        _ = try fixture.publish([
            Publication(
                staged: file.content, id: id, path: RelativePath("append"), size: UInt64(Self.content.count),
                digest: digest)
        ])[0].get()
        #expect(incoming == ["\(id).sheet"])
    }

    /// A killed server may have written only a part of the note, and the disk may have lost some of it.
    @Test(arguments: [0, 1, 20, 60, -1]) func aTornNoteIsNone(count: Int) throws {
        let id = try publish().id
        let note = fixture.path(".transfer/incoming/\(id).published")
        let bytes = try #require(Files.read(note))
        try Files.write(Array(count < 0 ? bytes.dropLast(-count) : bytes.prefix(count)), to: note)
        #expect(try restarted().resume(id: id, size: nil).isNew)
    }

    @Test func theNoteSaysWhatItWasTold() throws {
        for (path, conflict) in [("a b\nc", ConflictPolicy.skip), ("d/é", .overwrite)] {
            var publication = try fixture.publication(path, Self.content, asPart: true)
            publication.conflict = conflict
            let noted = PublishedPart(publication)
            let read = try #require(PublishedPart(noted.bytes))
            #expect(read == noted && read.target.path == publication.path && read.digest == publication.digest)
        }
        let zeros = String(repeating: "0", count: 32)
        #expect(PublishedPart(Array("transfer published\n1 1 \(zeros) 0 0\na\n".utf8)) != nil)
        #expect(PublishedPart([]) == nil)
        #expect(PublishedPart(Array("transfer published\n1 1 00 0 0\na\n".utf8)) == nil)
        #expect(PublishedPart(Array("transfer published\n1 9 \(zeros) 0 0\na\n".utf8)) == nil)
    }

    @Test func theNoteExpires() throws {
        let id = try publish().id
        let store = try restarted()
        let now = Int(Timestamp.now.seconds)
        _ = try store.removeUnfinished(where: { now - $0 > 3600 }, unless: { _ in false })
        _ = try store.removeUnfinished(where: { _ in true }, unless: { $0 == id })
        #expect(store.hasPart(id))
        _ = try store.removeUnfinished(where: { _ in true }, unless: { _ in false })
        #expect(incoming.isEmpty && !store.hasPart(id))
    }

    /// An upload whose client takes it back is forgotten altogether.
    @Test func theNoteGoesWithThePart() throws {
        let id = try publish().id
        try fixture.store.removePart(id)
        #expect(incoming.isEmpty)
    }

    /// If the disk has no room for the note, the upload is published all the same.
    @Test func aDiskThatRefusesTheNoteCostsNoUpload() throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), script: script)
        let publication = try fixture.publication("a", Self.content, asPart: true)
        script.start()
        script.fail("open", with: ENOSPC)
        _ = try fixture.publish([publication])[0].get()
        #expect(fixture.visible == ["a"] && !fixture.store.hasPart(publication.id))
    }

    /// A copy that has no room leaves nothing behind, and can be tried again.
    @Test func aCopyWithoutRoomIsTriedAgain() throws {
        let id = try publish().id
        let script = ScriptedDisk()
        let store = try restarted(on: script)
        script.start()
        script.fail("copy", with: ENOSPC)
        #expect(throws: Failure.self) { try store.resume(id: id, size: nil) }
        #expect(incoming == ["\(id).published"] && store.incoming.parts.load(ordering: .relaxed) == 0)
        #expect(try read(store.resume(id: id, size: nil)) == Self.content)
    }

    /// If the disk has no room for the rest of the upload, the copy stays, and counts.
    @Test func aCopyThatStaysIsCounted() throws {
        let id = try publish().id
        let script = ScriptedDisk()
        fixture.store.unlock()
        let store = try FileStore(
            path: fixture.root, durability: .commit, limits: SpaceLimits(quota: 1 << 40), fileSystem: nil,
            disk: script.disk)
        script.start()
        script.fail("reserve", with: ENOSPC)
        #expect(throws: Failure.self) { try store.resume(id: id, size: UInt64(2 * Self.content.count)) }
        #expect(store.hasResumable(id))
        #expect(store.space?.quota?.used == 2 * UInt64(Self.content.count))
        #expect(try read(store.resume(id: id, size: nil)) == Self.content)
    }

    /// Only mail that no mailbox has is given, so it is taken as it is.
    @Test func mailInNoMailboxIsAPartAgain() throws {
        var publication = try fixture.publication("x", Self.content, asPart: true)
        let id = publication.id
        publication.path = .mail(id)
        _ = try fixture.publish([publication])[0].get()
        var whole = try fixture.publication("y", [1, 2, 3])
        whole.path = .mail(whole.id)
        _ = try fixture.publish([whole])[0].get()
        let store = try restarted()
        store.unpublish(mail: store.mailFiles())
        #expect(store.mailFiles() == [whole.path])
        #expect(incoming == ["\(id)-interrupted.part"])
        #expect(try read(store.resume(id: id, size: nil)) == Self.content)
    }
}
