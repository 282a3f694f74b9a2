import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

/// Listings are bounded in memory, and a pull or sync that exceeds the bound fails.
@Suite struct ListBudgetTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private static func folder(_ name: String) -> ListedEntry {
        ListedEntry(
            .directory, name: name, size: 0, modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o755)
    }

    /// A server that lists the same entries in every folder.
    private static func server(_ entries: [ListedEntry]) -> FakeServer {
        FakeServer { peer in
            peer.welcome(Welcome(features: .files))
            while let arrival = peer.next() {
                guard case .message(.list(let list)) = arrival else { continue }
                peer.send(
                    .entries(Entries(id: list.id, entries)),
                    .outcome(Ending(id: list.id, code: .completed, count: UInt64(entries.count))))
            }
        }
    }

    private func client(_ address: ServerAddress, _ bytes: UInt64) throws -> TransferClient {
        try TransferClient(server: address, configuration: .plain { $0.listMemory = bytes })
    }

    @Test func whatIsHeldIsCounted() throws {
        var budget = ListBudget(1000)
        try budget.hold(600)
        budget.release(200)
        try budget.hold(600)
        #expect(throws: TransferFailure.self) { try budget.hold(1) }
        budget.release(.max)
        #expect(budget.held == 0)
        #expect(throws: TransferFailure.self) { try budget.hold(.max) }
        #expect(throws: TransferFailure.self) { try budget.hold(.max) }
        // The bound is enough for ten million entries with long paths.
        #expect(ListBudget.mostBytes / (ListBudget.entryBytes + 300) > 10_000_000)
    }

    @Test func aTreeThatIsTooLargeIsNotSynced() async throws {
        let (place, pulled) = (here.path("synced"), here.path("pulled"))
        try await withServer { server in
            for number in 0..<400 { try Files.write(server.directory.path("store/t/\(number)"), [1]) }
            let small = try client(server.address("t"), 100_000)
            // Events that are consumed as they arrive take no memory.
            #expect(await all(small.list()).events.count == 400)
            let (some, failure) = await small.collect(small.list())
            #expect(failure?.reason == .rejected(.incomplete) && (1..<400).contains(some.count))
            let synced = await Synced(small.sync(to: place))
            #expect(synced.failure?.reason == .rejected(.incomplete) && Files.tree(place) == [])
            let short = try await Pulled(["t"], from: server.address(""), to: pulled) { $0.listMemory = 100_000 }
            #expect(short.results["t"] == .incomplete, "\(short.reports.count) \(String(describing: short.failure))")
            let large = try client(server.address("t"), 1_000_000)
            #expect(await large.collect(large.list()).entries.count == 400)
            #expect(await Synced(large.sync(to: place)).failure == nil && Files.tree(place).count == 400)
            let whole = try await Pulled(["t"], from: server.address(""), to: pulled) { $0.listMemory = 1_000_000 }
            #expect(whole.reports.allSatisfy { $0.result.isSuccess } && Files.tree(pulled).count == 400)
        }
    }

    @Test func namesOfOneFolderWithoutEnd() async throws {
        try await withServer { server in
            for number in 0..<400 { try Files.write(server.directory.path("store/t/\(number)"), []) }
            let listed = await all(try client(server.address("t"), 10_000).list())
            #expect(listed.failure?.reason == .rejected(.incomplete) && listed.events.count < 400)
        }
    }

    /// Folders waiting to be listed take memory, and each adds more.
    @Test func foldersWithoutEnd() async throws {
        let server = Self.server((0..<200).map { Self.folder("\($0)") })
        let listed = await all(try client(server.address, 500_000).list(isRecursive: true))
        server.stop()
        #expect(listed.failure?.reason == .rejected(.incomplete) && !listed.events.isEmpty)
    }

    /// The depth exceeds that of any legal path.
    @Test func aFolderInAFolderWithoutEnd() async throws {
        let server = Self.server([Self.folder("d")])
        let listed = await all(try client(server.address, ListBudget.mostBytes).list(isRecursive: true))
        server.stop()
        #expect(listed.failure?.reason == .rejected(.invalidPath) && listed.events.count == Limits.pathDepth)
    }
}
