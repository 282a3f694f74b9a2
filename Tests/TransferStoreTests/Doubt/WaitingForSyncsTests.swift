import Glibc
import Testing
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct WaitingForSyncsTests {
    /// A sync that is still running may report the loss of bytes that another upload has found since.
    @Test func whoAsksAboutDoubtWaitsForTheSyncsBefore() throws {
        let temporary = try TemporaryDirectory()
        let folder = try DirectoryHandle(path: temporary.path, on: Disk())
        let mark = try SyncMark(in: .own(folder), boot: "now")
        let older = try mark.begin()
        let moment = mark.moment
        let answer = Locked<Bool?>(nil)
        let thread = TestThread {
            let isInDoubt = mark.isInDoubt(about: moment)
            answer.withLock { $0 = isInDoubt }
        }
        // Long enough for a caller that does not wait to return.
        let end = monotonicNanoseconds() + 300_000_000
        while answer.withLock({ $0 }) == nil, monotonicNanoseconds() < end { sched_yield() }
        #expect(answer.withLock { $0 } == nil)
        mark.end(older, hasFailed: true)
        thread.join()
        #expect(answer.withLock { $0 } == true)
    }
}
