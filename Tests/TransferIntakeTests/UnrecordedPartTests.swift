import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// A server is killed after it has published an upload in parts and before the upload is recorded. The sender of a
/// stream has let go of all blocks, because the server has verified them: it can only ask and end the upload again.
@Suite struct UnrecordedPartTests {
    private static let content = SplitMix64.bytes(seed: 9, 2 * Limits.blockSize + 5)

    private let fixture: IntakeFixture
    private var intent = UploadIntent(id: UploadID(high: 1, low: 5), path: "a", size: UInt64(content.count))

    init() throws { fixture = try IntakeFixture() }

    private var incoming: [String] { names(in: fixture.directory.path("store/.transfer/incoming")) }

    private func publish() throws {
        let session = fixture.session()
        #expect(try session.bringInParts(intent, Self.content) == nil)
        _ = session.publish()
    }

    /// The numbers of the blocks that the server has.
    private func blocks(_ session: IntakeSession) throws -> [UInt64] {
        var whole = intent
        whole.extent = .multipart
        guard case .query(var query) = session.have(whole) else { return [] }
        var found: [UInt64] = []
        while let blocks = try query.step(threads: 1) { found += blocks.map(\.index) }
        return found.sorted()
    }

    /// With `skip`, the file at the path is the upload itself, and not a reason to skip it.
    @Test(arguments: [ConflictPolicy.keepBoth, .skip, .fail, .overwrite])
    mutating func itIsEndedAtTheNextServer(_ policy: ConflictPolicy) throws {
        intent.conflict = policy
        try publish()
        let next = try IntakeFixture(after: fixture)
        let session = next.session()
        #expect(try blocks(session) == [0, 1, 2])
        #expect(try session.finishParts(intent, Self.content) == nil)
        guard case .acknowledged(let acknowledgement)? = session.outcomes().first else {
            Issue.record("the upload has no acknowledgement")
            return
        }
        #expect(acknowledgement.code == .alreadyStored && acknowledgement.path.string == "a")
        #expect(next.files == ["a"] && !next.store.hasPart(intent.id))
        #expect(try next.intake.known.count() == 1)
    }

    /// Knowing the content of a stored file is not enough: another client's upload with this ID is another one.
    @Test func onlyItsSenderHasIt() throws {
        try publish()
        let next = try IntakeFixture(after: fixture)
        var other = intent
        (other.id, other.extent) = (UploadID(high: 1, low: 6), .multipart)
        guard case .query(var query) = next.session().have(other) else {
            Issue.record("the question is not answered")
            return
        }
        #expect(try query.step(threads: 1)?.isEmpty ?? true)
    }

    @Test func nothingIsLeftOfARecordedUpload() throws {
        let session = fixture.session()
        #expect(try session.bringInParts(intent, Self.content) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        #expect(incoming.isEmpty)
    }

    /// The server was killed between the record and the removal of the note.
    @Test func theNoteGoesWithTheAnswer() throws {
        let session = fixture.session()
        #expect(try session.bringInParts(intent, Self.content) == nil)
        _ = session.outcomes()
        let note = fixture.directory.path("store/.transfer/incoming/\(intent.id).published")
        for asks in [true, false] {
            #expect(close(creat(note, 0o600)) == 0 && incoming.count == 1)
            if asks {
                _ = try blocks(fixture.session())
            } else {
                _ = try fixture.session().finishParts(intent, Self.content)
            }
            #expect(incoming.isEmpty)
        }
    }

    /// What is refused for good is not made unfinished again.
    @Test func theNoteGoesWithARefusal() throws {
        try publish()
        let next = try IntakeFixture(after: fixture)
        let session = next.session()
        #expect(try blocks(session) == [0, 1, 2])
        #expect(incoming.count == 2)
        #expect(throws: Failure.self) { try session.finishParts(intent, Array(Self.content.reversed())) }
        #expect(incoming.isEmpty)
    }
}
