import Testing
import TransferTestSupport

@testable import TransferAccess

@Suite(.overEachKindOfLists) struct ListChangesTests {
    /// Each change reads the list, changes it and replaces it.
    @Test func changesAtTheSameTimeAreAllThere() throws {
        let server = try ServerFolder()
        let (threads, each) = (4, 8)
        let running = (0..<threads).map { thread in
            TestThread { for number in 0..<each { _ = try? server.admit("\(thread) \(number)") } }
        }
        for thread in running { thread.join() }
        let list = try server.lists.keys.get()
        #expect(list.entries.count == threads * each)
    }
}
