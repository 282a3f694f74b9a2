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

/// Parts that a server was syncing when it died: the client has verified their blocks, and may have nothing left to send
/// them from.
@Suite struct InterruptedPartTests {
    private static let content: [UInt8] = {
        var random = SplitMix64(seed: 5)
        return random.bytes(2 * Limits.blockSize + 777)
    }()

    private let script = ScriptedDisk()
    private let fixture: StoreFixture
    private let publication: Publication

    private var id: UploadID { publication.id }

    /// A server that dies in the sync of a part with an old time, which its owner may not write to.
    init() throws {
        fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), script: script)
        publication = try fixture.publication(
            "a", Self.content, asPart: true, modified: Timestamp(seconds: 1, nanoseconds: 0), permissions: 0o444)
        script.start()
        script.die(inSync: 0)
        _ = fixture.publish([publication])
        #expect(fixture.parts == ["\(id)-0-syncing.part"] && fixture.visible.isEmpty)
    }

    private func restarted() throws -> (store: FileStore, next: ScriptedDisk) {
        let next = ScriptedDisk()
        return (try fixture.restarted(on: next.disk).store, next)
    }

    private func survey(_ staged: StagedFile) throws -> [SurveyedBlock] {
        var survey = try staged.survey(of: UInt64(Self.content.count), .xxh128)
        var found: [SurveyedBlock] = []
        while let blocks = try survey.step(threads: 2) { found += blocks }
        return found
    }

    @Test func theNextServerResumesIt() throws {
        let (store, _) = try restarted()
        #expect(fixture.parts == ["\(id)-interrupted.part"])
        #expect(store.hasPart(id) && store.part(id)?.size ?? 0 >= UInt64(Self.content.count))
        #expect(store.incoming.parts.load(ordering: .relaxed) == 1)
        let staged = try store.resume(id: id, size: UInt64(Self.content.count))
        #expect(!staged.isNew)
        #expect(try survey(staged).map(\.index) == [0, 1, 2])
        let outcome = store.publish([
            Publication(
                staged: staged, id: id, path: publication.path, size: publication.size, digest: publication.digest,
                permissions: 0o444)
        ]).outcomes
        #expect(outcome.map { $0.map(\.withoutIdentity) } == [.success(try .committed("a"))])
        #expect(Files.read(fixture.path("a")) == Self.content && fixture.parts.isEmpty)
        #expect(Files.mode(fixture.path("a")).map { $0 & 0o777 } == 0o444)
        #expect(store.incoming.parts.load(ordering: .relaxed) == 0)
    }

    /// The sync may have failed, and the kernel reports a failure only once; later syncs cover only what is written
    /// after that.
    @Test func itsBytesAreCopied() throws {
        let copied = Locked(UInt64(0))
        let disk = Disk(
            interception: { call, body in
                let result = body()
                if case .copy = call { copied.withLock { $0 += UInt64(max(0, result)) } }
                return result
            }, dirtyBytes: { 0 })
        let store = try fixture.restarted(on: disk).store
        let before = Files.status(fixture.path(".transfer/incoming/\(id)-interrupted.part"))?.st_ino
        let staged = try store.resume(id: id, size: nil)
        #expect(fixture.parts == ["\(id).part"])
        #expect(Files.status(fixture.path(".transfer/incoming/\(id).part"))?.st_ino != before)
        #expect(copied.withLock(\.self) == UInt64(Self.content.count))
        #expect(try survey(staged).count == 3)
        #expect(store.incoming.parts.load(ordering: .relaxed) == 1)
    }

    /// Zeros that are copied would take room.
    @Test func holesStayHoles() throws {
        let other = try StoreFixture()
        let (id, name) = (UploadID.random(), other.path(".transfer/incoming"))
        try Files.write([1], to: "\(name)/\(StagedFile.withdrawnName(id, 0))")
        try Files.check("truncate", truncate("\(name)/\(StagedFile.withdrawnName(id, 0))", off_t(Limits.blockSize)))
        #expect(try other.store.removeLeftovers().count == 0)
        let staged = try other.store.resume(id: id, size: nil)
        var survey = try staged.survey(of: nil, .xxh128)
        #expect(try survey.step(threads: 1)?.count == 1)
        #expect(try staged.present <= 512 << 10)
    }

    @Test(arguments: [EIO, ENOSPC]) func bytesThatCannotBeCopiedAreMissing(error: Int32) throws {
        let (store, next) = try restarted()
        let right = Self.content[..<Limits.blockSize].withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        next.start()
        next.fail("copy", with: error)
        if error == ENOSPC {
            // The part stays for another attempt.
            #expect(throws: Failure.self) { try store.resume(id: id, size: nil) }
            #expect(fixture.parts == ["\(id)-interrupted.part"])
        }
        let found = try survey(store.resume(id: id, size: nil))
        #expect(found.map(\.index) == [0, 1, 2] && (found[0].digest == right) == (error == ENOSPC))
    }

    /// The server died when it had copied the part, and before it removed the old one.
    @Test func anOldCopyGoes() throws {
        let (store, next) = try restarted()
        next.start()
        next.fail("unlink", with: EIO)
        _ = try store.resume(id: id, size: nil)
        #expect(fixture.parts == ["\(id).part", "\(id)-interrupted.part"])
        #expect(store.incoming.parts.load(ordering: .relaxed) == 2)
        store.unlock()
        let last = try FileStore(path: fixture.root)
        #expect(try last.removeLeftovers().count == 0)
        #expect(fixture.parts == ["\(id).part"] && last.incoming.parts.load(ordering: .relaxed) == 1)
        #expect(try survey(last.resume(id: id, size: nil)).count == 3)
    }

    /// The part gets a new time when the server starts, because its time was that of the client's file, which can be
    /// old.
    @Test func itExpiresFromTheRestartOn() throws {
        let (store, _) = try restarted()
        let now = Int(Timestamp.now.seconds)
        #expect(try store.removeUnfinished(where: { now - $0 > 3600 }, unless: { _ in false }).count == 0)
        #expect(try store.unfinished().count == 1)
        #expect(try store.removeUnfinished(where: { _ in true }, unless: { _ in false }).count == 1)
        #expect(fixture.parts.isEmpty && !store.hasPart(id) && store.part(id) == nil)
    }

    @Test func itIsRemovedOnRequest() throws {
        let (store, _) = try restarted()
        try store.removePart(id)
        #expect(fixture.parts.isEmpty && store.incoming.parts.load(ordering: .relaxed) == 0)
    }

    /// A server that dies again while it syncs the part leaves it to the next one.
    @Test func twice() throws {
        let (store, next) = try restarted()
        let staged = try store.resume(id: id, size: nil)
        next.start()
        next.die(inSync: 0)
        _ = store.publish([
            Publication(
                staged: staged, id: id, path: publication.path, size: publication.size, digest: publication.digest)
        ])
        #expect(fixture.parts == ["\(id)-0-syncing.part"])
        store.unlock()
        let last = try FileStore(path: fixture.root)
        #expect(try last.removeLeftovers().count == 0)
        #expect(try survey(last.resume(id: id, size: nil)).count == 3)
    }

    /// A file system without a journal may keep both names of a part that was published.
    @Test func aPublishedOneIsNoPart() throws {
        #expect(link(fixture.path(".transfer/incoming/\(id)-0-syncing.part"), fixture.path("a")) == 0)
        let (store, _) = try restarted()
        #expect(fixture.parts.isEmpty && !store.hasResumable(id))
        #expect(Files.read(fixture.path("a")) == Self.content)
        // The upload may not be recorded, so its client finds what it has sent in a copy.
        #expect(try survey(store.resume(id: id, size: nil)).count == 3)
        #expect(Files.status(fixture.path("a"))?.st_nlink == 1)
    }

    /// An upload that could not be published for another reason is sent again, perhaps much later.
    @Test func aPartThatIsGivenBackExpiresFromThen() throws {
        let other = try StoreFixture()
        let id = UploadID.random()
        let staged = try other.store.resume(id: id, size: nil)
        try staged.setAttributes(modified: Timestamp(seconds: 1, nanoseconds: 0), permissions: 0o444)
        try staged.withdraw(id: id)
        staged.discardUnlessResumable()
        let part = other.path(".transfer/incoming/\(id).part")
        #expect(Files.status(part).map { Timestamp.now.seconds - Int64($0.st_mtim.tv_sec) < 3600 } == true)
        #expect(Files.mode(part).map { $0 & 0o777 } == 0o600)
    }
}
