import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferStoreTestSupport

@testable import TransferStore

/// A call fails in the middle of a batch.
@Suite struct BatchFailureTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let wholeDisk = FileSystem(isMemory: false, syncsAsAWhole: true)

    private let script = ScriptedDisk()

    private func failures(_ outcomes: [Result<PublicationOutcome, Failure>]) -> Int {
        outcomes.count { if case .failure = $0 { true } else { false } }
    }

    /// A batch keeps only a limited number of directories open: it syncs the first ones while it makes others.
    @Test func anEarlySyncOfNamesFailsAll() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        let batch = try (0..<70).map { try fixture.publication("d\($0)/a", .one) }
        script.start()
        script.fail(sync: batch.count + 3, with: EIO)
        #expect(failures(fixture.publish(batch)) == batch.count)
        #expect(script.failed == ["sync"])
    }

    /// A batch keeps only a limited number of existing files open, too: it syncs the first ones while it compares
    /// others.
    @Test func anEarlySyncOfOthersContentFailsAll() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        for number in 0..<70 { try fixture.publish("\(number)", [UInt8(number)]) }
        let batch = try (0..<70).map { try fixture.publication("\($0)", [UInt8($0)]) }
        script.start()
        script.fail(sync: 3, with: EIO)
        #expect(failures(fixture.publish(batch)) == batch.count)
        #expect(script.failed == ["sync"])
    }

    /// The next upload into the directory must not assume that the directory's name is on the disk.
    @Test func aDirectoryIsDoubtedThoughAnotherSyncFailed() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        try fixture.publish("a", .six)
        let batch = [try fixture.publication("new/a", .one), try fixture.publication("a", .six)]
        script.start()
        script.fail(sync: batch.count, with: EIO)
        #expect(failures(fixture.publish(batch)) == 2)
        script.mend()
        #expect(try fixture.failure("new/b", .two) == .storageFailed)
    }

    /// A sync of the file system does not report bytes that were lost before this process opened the file system.
    @Test func afterASyncOfAllEachFileIsAskedFor() throws {
        let fixture = try StoreFixture(fileSystem: Self.wholeDisk, script: script)
        let batch = try (0..<6).map { try fixture.publication("\($0)", .one) }
        script.start()
        script.fail(check: 2, with: EIO)
        let outcomes = fixture.publish(batch)
        #expect(script.failed == ["syncCheck"] && failures(outcomes) == 1)
    }

    @Test func aWriteThatTakesHalfGoesOn() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        for call in 0..<8 {
            script.start(fault: ScriptedDisk.Fault(call: script.count + call, kind: .short))
            #expect(try fixture.publish("\(call)", .six) == .committed("\(call)"))
            #expect(Files.read(fixture.path("\(call)")) == .six, "call \(call)")
        }
    }
}

// MARK: Parts

extension BatchFailureTests {
    /// After a crash in the sync, the bytes of the part on the disk are unknown.
    @Test func aPartHasNoNameWhileItIsSynced() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        let publication = try fixture.publication("a", .six, asPart: true)
        #expect(fixture.store.hasPart(publication.id))
        script.start(fixture.root)
        script.die(inSync: 0)
        #expect(failures(fixture.publish([publication])) == 1)
        script.mend()
        #expect(!fixture.store.hasResumable(publication.id))
        #expect(try fixture.store.resume(id: publication.id, size: nil).isNew)
    }

    /// The content is on the disk, so the client need not send it again.
    @Test func aPartThatCouldNotBePublishedHasItsNameAgain() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        let publication = try fixture.publication("new/a", .six, asPart: true)
        script.start()
        script.fail("makeDirectory", with: ENOSPC)
        #expect(failures(fixture.publish([publication])) == 1)
        #expect(fixture.store.hasPart(publication.id))
        #expect(fixture.store.part(publication.id).map { $0.size >= 6 } == true)
    }
}
