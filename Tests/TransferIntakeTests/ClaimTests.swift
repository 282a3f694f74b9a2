import Testing
import TransferAccess
import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// A claim decides which connection completes an upload and which client owns the file.
@Suite struct ClaimTests {
    private func entry(_ id: UploadID) -> CatalogEntry {
        CatalogEntry(id: id, state: .committed, path: "a", size: 0, begun: 1, committed: 1)
    }

    @Test func oneConnectionAtATime() {
        let (results, id) = (RecentResults(), UploadID.random())
        let claim = RecentResults.Claim(id: id, begun: results.moment)
        #expect(results.claim([claim]) == [])
        #expect(results.isClaimed(id))
        #expect(results.claim([claim]) == [0])
        results.release([id])
        #expect(!results.isClaimed(id))
        #expect(results.claim([claim]) == [])
    }

    @Test func twoOfOneBatch() {
        let (results, id) = (RecentResults(), UploadID.random())
        let claim = RecentResults.Claim(id: id, begun: results.moment)
        #expect(results.claim([claim, claim]) == [1])
    }

    /// A connection that began before another one completed the upload cannot claim it.
    @Test func whoBeganBeforeItWasAddedComesTooLate() {
        let (results, id) = (RecentResults(), UploadID.random())
        let early = RecentResults.Claim(id: id, begun: results.moment)
        results.add([entry(id)])
        #expect(results.claim([early]) == [0])
        #expect(results.claim([RecentResults.Claim(id: id, begun: results.moment)]) == [])
    }

    /// Another file may get the number of a removed file, and clients choose the times of files, so both may match.
    @Test func aFileBelongsToTheOneWhoStoredItLast() throws {
        let directory = try TemporaryDirectory()
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        let known = KnownUploads(catalog, isShared: false, clock: .system) { _ in }
        let clients = ["a", "b"].map { Caller(Grant(.token($0), name: $0), UploadScope(), peer: "") }
        let file = ContentVersion(object: 7, revision: 50, touch: 100, size: 3)
        for (moment, client) in clients.enumerated() {
            known.record([
                CatalogEntry(
                    id: .random(), state: .committed, path: "c", size: 3, sender: client.sender, client: client.id,
                    begun: 1, committed: Int64(moment), version: file)
            ])
        }
        let path = try RelativePath("c")
        #expect(!known.hasStored(clients[0], path, file))
        #expect(known.hasStored(clients[1], path, file))
        known.close()
    }

    /// The catalog forgets the older uploads of a path that has had many. A late copy of a forgotten upload, over a
    /// connection that was lost, still replaces nothing. If a client begins the upload again, the copy is intended and
    /// replaces the file.
    @Test func aLateCopyOfAForgottenUploadReplacesNothing() throws {
        let fixture = try IntakeFixture()
        func intent(_ content: [UInt8], _ id: UploadID = .random()) -> UploadIntent {
            UploadIntent(id: id, path: "a", size: UInt64(content.count), conflict: .overwrite)
        }
        let (late, session, first) = (fixture.session(), fixture.session(), UploadID.random())
        #expect(try late.bring(intent([0], first), [0]) == nil)
        #expect(try session.bring(intent([0], first), [0]) == nil)
        #expect(session.outcomes().map(\.code) == [.committed])
        for number in 1...Catalog.mostOfPath + 10 {
            let content = [UInt8](repeating: 1, count: number)
            #expect(try session.bring(intent(content), content) == nil)
            #expect(session.outcomes().map(\.code) == [.committed])
        }
        fixture.intake.known.index()
        #expect(try fixture.intake.known.records.entries(for: [first])[0] == nil)
        #expect(try fixture.intake.known.records.count() == Catalog.mostOfPath)
        #expect(late.outcomes().map(\.code) == [.busy])
        #expect(fixture.store.version(at: try RelativePath("a"))?.size == UInt64(Catalog.mostOfPath + 10))
        let again = fixture.session()
        #expect(try again.bring(intent([0], first), [0]) == nil)
        #expect(again.outcomes().map(\.code) == [.committed])
    }
}
