import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// The identity of a stored file shows whether it is another file or has changed.
@Suite struct IdentityTests {
    private func version(_ path: String) throws -> ContentVersion {
        var status = stat()
        #expect(lstat(path, &status) == 0)
        return ContentVersion(status)
    }

    /// The returned identity is the file's identity after it was linked, renamed, or replaced another.
    @Test(arguments: [false, true]) func comesWithWhatWasPublished(asPart: Bool) throws {
        let fixture = try StoreFixture()
        for policy in [ConflictPolicy.keepBoth, .overwrite] {
            let content: [UInt8] = policy == .overwrite ? .two : .one
            let publication = try fixture.publication("a", content, policy, asPart: asPart)
            let path = try RelativePath("a")
            let expected = fixture.store.publish([publication]).outcomes
            #expect(expected == [.success(.committed(path, try version(fixture.path("a"))))])
            #expect(fixture.store.version(at: path) == (try version(fixture.path("a"))))
        }
        let again = try fixture.publication("a", .two, asPart: asPart)
        let found = fixture.store.publish([again]).outcomes
        #expect(found == [.success(.alreadyStored(try RelativePath("a"), try version(fixture.path("a"))))])
    }

    @Test func changesWithTheFile() throws {
        let fixture = try StoreFixture()
        try fixture.publish("a", .one)
        let before = try version(fixture.path("a"))
        #expect(try version(fixture.path("a")) == before)
        let number = open(fixture.path("a"), O_WRONLY)
        defer { close(number) }
        repeat { pwrite(number, "x", 1, 0) } while try ContentVersion(of: number) == before
        #expect(try version(fixture.path("a")) == ContentVersion(of: number))
        #expect(throws: SystemError.self) { try ContentVersion(of: -1) }
    }

    /// The writer of an existing file is unknown, so the file does not count before it is synced.
    @Test func whatIsFoundIsMadeDurable() throws {
        let syncs = RecordedSyncs()
        let disk = FileSystem(isMemory: false, syncsAsAWhole: false)
        let fixture = try StoreFixture(fileSystem: disk, syncs: syncs)
        try Files.write(.one, to: fixture.path("a"))
        let before = syncs.syncs.count
        #expect(try fixture.publish("a", .one) == .alreadyStored("a"))
        // The publication syncs the existing file and the directory.
        #expect(syncs.syncs.count == before + 2)
    }
}
