import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferStoreTestSupport

@testable import TransferStore

/// A call that fails in the middle of a batch.
@Suite struct BatchFailureTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let wholeDisk = FileSystem(isMemory: false, syncsAsAWhole: true)

    private let script = ScriptedDisk()

    private func failures(_ outcomes: [Result<PublicationOutcome, Failure>]) -> Int {
        outcomes.count { if case .failure = $0 { true } else { false } }
    }

    /// So many directories are not kept open: the first of them are synced while others are still being made.
    @Test func anEarlySyncOfNamesFailsAll() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        let batch = try (0..<70).map { try fixture.publication("d\($0)/a", .one) }
        script.start()
        script.fail(sync: batch.count + 3, with: EIO)
        #expect(failures(fixture.publish(batch)) == batch.count)
        #expect(script.failed == ["sync"])
    }

    /// So many files of others are not kept open either, whose content is synced for an upload that is the same.
    @Test func anEarlySyncOfOthersContentFailsAll() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        for number in 0..<70 { try fixture.publish("\(number)", [UInt8(number)]) }
        let batch = try (0..<70).map { try fixture.publication("\($0)", [UInt8($0)]) }
        script.start()
        script.fail(sync: 3, with: EIO)
        #expect(failures(fixture.publish(batch)) == batch.count)
        #expect(script.failed == ["sync"])
    }

    /// Whoever stores there next must not take it for one whose name is on disk.
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

    /// A sync of all says nothing of what was lost before this process opened the file system.
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
    /// Nobody could tell what of it is on disk.
    @Test func aPartHasNoNameWhileItIsSynced() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        let publication = try fixture.publication("a", .six, asPart: true)
        #expect(fixture.store.hasPart(publication.id))
        script.start(fixture.root)
        script.die(inSync: 0)
        #expect(failures(fixture.publish([publication])) == 1)
        script.mend()
        #expect(!fixture.store.hasPart(publication.id))
    }

    /// Its content is on disk, and whoever sends it again need not send that.
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
