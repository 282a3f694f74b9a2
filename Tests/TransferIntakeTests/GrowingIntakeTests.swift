import Testing
import TransferCatalog
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferIntake

/// Uploads that grow, as the intake knows of them.
@Suite struct GrowingIntakeTests {
    private static func intent(
        _ id: UploadID, _ count: Int, at offset: UInt64 = 0, isNew: Bool = true, isLast: Bool = false
    ) -> UploadIntent {
        let append = UploadAppend(at: offset, total: nil, ending: isLast ? .here : .never, isNew: isNew)
        return UploadIntent(
            id: id, path: "a", size: UInt64(count), conflict: .keepBoth, extent: .append(append))
    }

    /// It is unfinished from its first request to its end: so it counts for its client, also under the next server.
    @Test func whatGrowsIsUnfinished() throws {
        let fixture = try IntakeFixture()
        let (id, session) = (UploadID.random(), fixture.session(of: "a"))
        #expect(try session.bring(Self.intent(id, 3), [1, 2, 3], declared: DeclaredEnd())?.code == .staged)
        #expect(fixture.intake.known.unfinished(id)?.client == session.caller.id)
        #expect(try fixture.intake.known.records.unfinished().map(\.id) == [id])
        #expect(
            try session.bring(Self.intent(id, 1, at: 3, isNew: false, isLast: true), [4], declared: DeclaredEnd())
                == nil)
        #expect(session.outcomes().map(\.code) == [.committed] && fixture.files == ["a"])
        #expect(fixture.intake.known.unfinished(id) == nil)
    }

    @Test func whatIsRefusedOrTakenBackIsNot() throws {
        let fixture = try IntakeFixture()
        let session = fixture.session(of: "a")
        let refused = UploadID.random()
        #expect(throws: StoreError.self) {
            try session.bring(Self.intent(refused, 2), [1, 2, 3], declared: DeclaredEnd())
        }
        let taken = UploadID.random()
        _ = try session.bring(Self.intent(taken, 3), [1, 2, 3], declared: DeclaredEnd())
        #expect(try session.takeBack(growing: taken))
        #expect(fixture.intake.known.unfinished(taken) == nil)
    }

    /// Places are few, and each stays taken for a week.
    @Test func oneClientLeavesPlacesToOthers() throws {
        let fixture = try IntakeFixture()
        let (greedy, other) = (fixture.session(of: "a"), fixture.session(of: "b"))
        for number in 0..<UnfinishedUploads.places / 2 {
            let id = UploadID(high: 1, low: UInt64(number))
            _ = fixture.intake.known.begin(
                UnfinishedUpload(id: id, path: "\(number)", client: greedy.caller.id, begun: 0))
        }
        let refused = greedy.begin(Self.intent(.random(), 1), mayEnd: true)
        #expect(refused.outcome?.code == .busy)
        #expect(try other.bring(Self.intent(.random(), 1), [1], declared: DeclaredEnd())?.code == .staged)
        #expect(names(in: fixture.directory.path("store/.transfer/incoming")).count == 2)
    }
}
