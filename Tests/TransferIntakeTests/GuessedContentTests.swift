import Testing
import TransferAccess
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// A client that may only send does not learn what other clients have stored, not even by sending guessed content.
@Suite struct GuessedContentTests {
    private static let content: [UInt8] = [1, 2, 3]
    private let fixture: IntakeFixture
    private let guest: IntakeSession

    init() throws {
        fixture = try IntakeFixture(in: TemporaryDirectory(prefersMemory: true))
        let owner = fixture.session(of: "owner")
        #expect(try owner.bring(UploadIntent(id: .random(), path: "a", size: 3), Self.content) == nil)
        #expect(owner.outcomes().map(\.code) == [.committed])
        var options = AccessOptions()
        options.rights = .writeOnly
        guest = fixture.session(of: "guest", options)
    }

    private func push(_ content: [UInt8], to path: String, _ conflict: ConflictPolicy) throws -> ResultCode? {
        let intent = UploadIntent(id: .random(), path: path, size: UInt64(content.count), conflict: conflict)
        if let outcome = try guest.bring(intent, content) { return outcome.code }
        return guest.outcomes().first?.code
    }

    @Test(arguments: [ConflictPolicy.keepBoth, .skip, .fail, .overwrite]) func aRightGuessIsAnsweredAsAWrongOne(
        _ conflict: ConflictPolicy
    ) throws {
        let wrong = try push([1, 2, 4], to: "a", conflict)
        let right = try push(Self.content, to: "a", conflict)
        #expect(right == wrong)
        #expect(
            right == [.keepBoth: .committed, .skip: .skipped, .fail: .pathConflict, .overwrite: .forbidden][conflict])
    }

    /// A client may send its own content again, and content without a recorded owner: a server may have died before it
    /// recorded the upload.
    @Test func whatMayBeItsOwnIsNotStoredTwice() throws {
        #expect(try push([5], to: "own", .keepBoth) == .committed)
        #expect(try push([5], to: "own", .keepBoth) == .alreadyStored)
        let staged = try fixture.store.stage(id: .random(), size: 1, permissions: nil)
        try ([6] as [UInt8]).withUnsafeBytes { try staged.write($0, at: 0) }
        let unrecorded = Publication(
            staged: staged, id: .random(), path: try RelativePath("unrecorded"), size: 1,
            digest: IntakeFixture.digest([6]))
        _ = try fixture.store.publish([unrecorded]).outcomes[0].get()
        #expect(try push([6], to: "unrecorded", .keepBoth) == .alreadyStored)
    }
}
