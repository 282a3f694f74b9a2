import Testing
import TransferCatalog
import TransferModel
import TransferPorts
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

    /// Forgetting the first result of an ID must not remove the second.
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

    /// Moving a file forgets its result. An older copy of the upload is refused all the same.
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

    /// Forgetting a path takes a single step, however many results it has. Later results for the path are known.
    @Test func aPathIsForgottenAsItWasThen() {
        let recent = RecentResults()
        let early = (0..<500).map { _ in entry(.random(), size: 1) }
        let other = entry(.random(), size: 2)
        recent.add(early + [other])
        recent.forget([PathKey("p1")])
        let late = entry(.random(), size: 1)
        recent.add([late])
        #expect(early.allSatisfy { recent.find($0.id) == nil })
        #expect(recent.find(other.id) == other && recent.find(late.id) == late)
    }

    /// Forgotten paths take memory. If there are too many, all results are forgotten and the server asks the catalog.
    @Test func forgottenPathsHaveABound() {
        let recent = RecentResults()
        let first = entry(.random(), size: 1)
        recent.add([first])
        for number in 0...RecentResults.capacity { recent.forget([PathKey("q\(number)")]) }
        #expect(recent.find(first.id) == nil)
        #expect(recent.claim([.init(id: first.id, begun: 0)]) == [0])
        let second = entry(.random(), size: 2)
        recent.add([second])
        #expect(recent.find(second.id) == second)
    }

    /// Long names leave room for fewer results. The server still knows that these uploads were completed.
    @Test func longNamesLeaveRoomForFewerResults() {
        let recent = RecentResults()
        let path = String(repeating: "n", count: 4000)
        let ids = (0..<4096).map { _ in UploadID.random() }
        for id in ids {
            recent.add([CatalogEntry(id: id, state: .committed, path: path, size: 1, begun: 0, committed: 0)])
        }
        let known = ids.count { recent.find($0) != nil }
        #expect(known == RecentResults.mostBytes / 4000)
        #expect(recent.find(ids[4095]) != nil)
        #expect(recent.claim([.init(id: ids[0], begun: 0)]) == [0])
    }
}
