import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Connections stop reading listings while too many files wait to be fetched.
@Suite final class PullPlanTests: Sendable {
    private let plan: PullPlan
    private let directory: PullDirectory
    private let here: TemporaryDirectory
    private let calls = Locked(0)

    /// The number of files that a plan lets wait.
    private static let files = 8192

    init() throws {
        here = try TemporaryDirectory()
        let context = RequestContext(
            server: try #require(ServerAddress("127.0.0.1:1")), configuration: .plain(), loops: try ClientLoops(),
            pool: BlockingPool(name: "test", threads: 1), buffers: BufferPool(size: 4096, count: 1), security: nil)
        directory = try PullDirectory(path: here.path)
        plan = PullPlan(context, [], .directory(directory), EventQueue())
        plan.connect { [weak self] in self?.calls.withLock { $0 += 1 } }
        let root = try #require(try? RelativePath("f"))
        let entry = RemoteEntry(
            "f", ListedEntry(.file, name: "f", size: 0, modified: .init(seconds: 0, nanoseconds: 0), permissions: 0o600)
        )
        plan.add((0..<Self.files).map { _ in .file(PullFile(source: "f", target: root, entry: entry)) })
    }

    /// A lane whose connection is open.
    private func lane() -> PullLane {
        let lane = PullLane(plan, directory)
        _ = lane.next(0, 0)
        return lane
    }

    private let list = Request.list(ListRequest(id: 0, path: ""))
    private let fetch = Request.fetch(FetchRequest(id: 0, path: "f"))

    @Test func oneConnectionReadsOnAlone() {
        let first = lane()
        #expect(first.mayRead(list))
        // A lane that is still connecting fetches no files.
        let second = PullLane(plan, directory)
        #expect(first.mayRead(list) && second.mayRead(nil))
    }

    @Test func onlyOneThatListsWaitsAndIsWoken() {
        let (first, second) = (lane(), lane())
        #expect(first.mayRead(fetch) && first.mayRead(nil))
        #expect(!first.mayRead(list))
        #expect(second.mayRead(list) && second.mayRead(fetch))
        let before = calls.withLock { $0 }
        for _ in 0..<Self.files / 2 - 1 { _ = plan.next() }
        #expect(!first.mayRead(list) && calls.withLock { $0 } == before)
        _ = plan.next()
        #expect(first.mayRead(list) && calls.withLock { $0 } == before + 1)
    }

    @Test func itIsWokenWhenTheOtherOneGoes() {
        let first = lane()
        var second: PullLane? = lane()
        #expect(!first.mayRead(list))
        let before = calls.withLock { $0 }
        second = nil
        _ = second
        #expect(first.mayRead(list) && calls.withLock { $0 } == before + 1)
    }

    @Test func anotherOneMayWaitWhenItGoes() {
        var first: PullLane? = lane()
        let (second, third) = (lane(), lane())
        #expect(first?.mayRead(list) == false)
        first = nil
        #expect(!second.mayRead(list) && third.mayRead(list))
    }
}
