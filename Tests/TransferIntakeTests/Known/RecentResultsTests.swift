import Testing
import TransferCatalog
import TransferModel
import TransferProtocol

@testable import TransferIntake

@Suite struct RecentResultsTests {
    private func entry(_ id: UploadID, size: UInt64 = 0) -> CatalogEntry {
        CatalogEntry(id: id, state: .committed, path: "p\(size)", size: size, begun: 0, committed: 0)
    }

    @Test func remembersAsManyAsItsCapacityAndForgetsTheOldest() {
        let recent = RecentResults()
        let ids = (0..<RecentResults.capacity + 3).map { _ in UploadID.random() }
        let entries = ids.enumerated().map { entry($1, size: UInt64($0)) }
        for entry in entries.prefix(RecentResults.capacity) { recent.add([entry]) }
        recent.add(Array(entries.suffix(3)))
        for id in ids.prefix(3) { #expect(recent.find(id) == nil) }
        #expect(recent.find(ids[3]) == entries[3])
        #expect(ids.dropFirst(3).allSatisfy { recent.find($0) != nil })
        #expect(RecentResults.capacity >= Limits.unacknowledgedUploads)
    }

    @Test func theSameIdAgainReplacesItsResult() {
        let recent = RecentResults()
        let id = UploadID.random()
        recent.add([entry(id, size: 1), entry(id, size: 2)])
        #expect(recent.find(id) == entry(id, size: 2))
        #expect(recent.find(.random()) == nil)
    }

    /// Forgetting the first result of an id must not take the second with it.
    @Test func anIdThatCameAgainIsAsYoungAsItsLastResult() {
        let recent = RecentResults()
        let id = UploadID.random()
        recent.add([entry(id, size: 1)])
        recent.add([entry(id, size: 2)])
        recent.add((0..<RecentResults.capacity - 1).map { _ in entry(.random()) })
        #expect(recent.find(id) == entry(id, size: 2))
        recent.add([entry(.random())])
        #expect(recent.find(id) == nil)
    }

    /// The answer goes with the file that was moved. An older copy of the upload is refused all the same.
    @Test func whatIsForgottenIsStillClaimed() {
        let recent = RecentResults()
        let id = UploadID.random()
        let begun = recent.moment
        recent.add([entry(id, size: 1)])
        recent.forget([PathKey("p1")])
        #expect(recent.find(id) == nil)
        #expect(recent.claim([.init(id: id, begun: begun)]) == [0])
        #expect(recent.claim([.init(id: id, begun: recent.moment)]).isEmpty)
        recent.release([id])
        recent.add([entry(id, size: 1)])
        #expect(recent.find(id) == entry(id, size: 1))
    }
}
