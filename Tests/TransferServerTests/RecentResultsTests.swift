import Testing
import TransferProtocol

@testable import TransferServer

@Suite struct RecentResultsTests {
    private func result(_ id: UploadID, size: UInt64 = 0) -> UploadResult {
        UploadResult(id: id, code: .committed, size: size)
    }

    @Test func remembersAsManyAsItsCapacityAndForgetsTheOldest() {
        let recent = RecentResults()
        let ids = (0..<RecentResults.capacity + 3).map { _ in UploadID.random() }
        for (number, id) in ids.enumerated() { recent.add(result(id, size: UInt64(number)), path: "p\(number)") }
        for id in ids.prefix(3) { #expect(recent[id] == nil) }
        #expect(recent[ids[3]]?.result.size == 3)
        #expect(recent[ids[3]]?.path == "p3")
        #expect(ids.dropFirst(3).allSatisfy { recent[$0] != nil })
        #expect(RecentResults.capacity >= Limits.unacknowledgedUploads)
    }

    @Test func theSameIdAgainReplacesItsResult() {
        let recent = RecentResults()
        let id = UploadID.random()
        recent.add(result(id, size: 1), path: "a")
        recent.add(result(id, size: 2), path: "b")
        #expect(recent[id]?.result.size == 2)
        #expect(recent[id]?.path == "b")
        #expect(recent[.random()] == nil)
    }
}
