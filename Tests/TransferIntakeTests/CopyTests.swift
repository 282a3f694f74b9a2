import Synchronization
import Testing
import TransferAccess
import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// Copies are published and recorded by the rules of uploads.
@Suite struct CopyTests {
    private static let content: [UInt8] = [1, 2, 3]

    private func publication(_ path: String, _ content: [UInt8], _ fixture: IntakeFixture) throws -> Publication {
        let staged = try fixture.store.stage(id: .random(), size: UInt64(content.count), permissions: nil)
        try content.withUnsafeBytes { try staged.write($0, at: 0) }
        return Publication(
            staged: staged, id: .random(), path: try RelativePath(path), size: UInt64(content.count),
            digest: IntakeFixture.digest(content), conflict: .fail)
    }

    /// After a failed sync the same content is stored again. A client that may not replace other clients' files does
    /// not become the owner of a file by uploading or copying the same content to its path.
    @Test(arguments: [true, false]) func copyingOverAFileDoesNotChangeItsOwner(hasFailedSync: Bool) throws {
        let fails = Atomic(false)
        let disk = Disk(interception: { call, body in
            if fails.load(ordering: .relaxed), case .sync = call { return -5 }
            return body()
        })
        let directory = try TemporaryDirectory(prefersMemory: true)
        let fixture = try IntakeFixture(
            in: directory, disk: disk, fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false))
        let owner = fixture.session(of: "owner")
        #expect(try owner.bring(UploadIntent(id: .random(), path: "a", size: 3), Self.content) == nil)
        #expect(owner.outcomes().map(\.code) == [.committed])
        if hasFailedSync {
            fails.store(true, ordering: .relaxed)
            #expect(try owner.bring(UploadIntent(id: .random(), path: "b", size: 1), [9]) == nil)
            #expect(owner.outcomes().map(\.code) == [.storageFailed])
            fails.store(false, ordering: .relaxed)
        }
        #expect(fixture.store.isInDoubt == hasFailedSync)
        var options = AccessOptions()
        options.rights = .noRemove
        let guest = fixture.session(of: "guest", options)
        let place = try fixture.intake.publish(
            copy: publication("a", Self.content, fixture), .file, for: guest.caller, begun: 0)
        #expect(place?.path.string == "a")
        var overwriting = UploadIntent(id: .random(), path: "a", size: 1, conflict: .overwrite)
        #expect(try guest.bring(overwriting, [4]) == nil)
        #expect(guest.outcomes().map(\.code) == [.forbidden])
        // A client owns a copy that it makes at a free path.
        let copied = try fixture.intake.publish(
            copy: publication("c", Self.content, fixture), .file, for: guest.caller, begun: 0)
        #expect(copied?.path.string == "c")
        overwriting = UploadIntent(id: .random(), path: "c", size: 1, conflict: .overwrite)
        #expect(try guest.bring(overwriting, [4]) == nil)
        #expect(guest.outcomes().map(\.code) == [.committed])
    }
}
