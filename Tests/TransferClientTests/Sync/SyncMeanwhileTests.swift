import CLinux
import Glibc
import Testing
import TransferModel
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Somebody writes to a file here while a sync reads another one.
extension SyncTests {
    /// Makes `back` what the server has.
    ///
    /// - Parameter body: called when the content of that file is compared.
    private func pull(
        _ server: RunningServer, deletes: Bool, whenComparing path: String, _ body: () -> Void
    ) async throws -> Synced {
        var configuration = ClientConfiguration.plain()
        (configuration.conflict, configuration.comparesContent) = (.overwrite, true)
        let client = try TransferClient(server: server.address("copy"), configuration: configuration)
        let scan = RemoteScan(client, isSource: true, wantsDigests: true, SyncFilter(Selection()))
        var local = LocalScan(try LocalTree(path: back), at: back, isSource: false, SyncFilter(Selection()))
        let trees = (source: try await scan.run().tree, target: try local.run().0)
        var options = SyncOptions()
        options.deletes = deletes
        let plan = withoutActuallyEscaping(body) { body in
            var planner = SyncPlanner(trees.source, trees.target, options) { entry, _ in
                if entry.path.string.hasSameBytes(as: path) { body() }
                return true
            }
            return planner.run()
        }
        let target = LocalTarget(
            client: client, destination: try PullDirectory(path: back), keepsOwners: false, digests: [:],
            compared: plan.compared)
        let events = EventQueue<SyncEvent>()
        let run = SyncRun(RemoteSource(client: client), trees, plan, options) { events.send($0) }
        events.send(.ended(try await run.run(target)))
        events.finish(.success(()))
        return await Synced(RequestEvents(events))
    }

    /// Other bytes in place, as many.
    private func edit(_ path: String, _ content: [UInt8], restoresTime: Bool) {
        var status = stat()
        let file = open(path, O_WRONLY | O_CLOEXEC)
        #expect(fstat(file, &status) == 0 && pwrite(file, content, content.count, 0) == content.count)
        if restoresTime { #expect(futimens(file, [status.st_atim, status.st_mtim]) == 0) }
        close(file)
    }

    @Test(arguments: [false, true]) func whatIsWrittenMeanwhileIsNotMoved(restoresTime: Bool) async throws {
        try write("a1", [1, 2, 3])
        try write("a2", [4, 5, 6, 7])
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            for name in ["1", "2"] { #expect(rename("\(source)/a\(name)", "\(source)/b\(name)") == 0) }
            _ = try await push(server) { $0.deletes = true }
            let synced = try await pull(server, deletes: true, whenComparing: "b2") {
                edit("\(back)/a1", [9, 9, 9], restoresTime: restoresTime)
            }
            #expect(synced.failures.count == 1 && synced.failures[0].hasPrefix("moved b1: sourceChanged "))
            #expect(synced.summary?.failed == 1 && synced.summary?.moved == 1)
            // It is fetched instead, and nothing is lost.
            #expect(Files.read("\(back)/b1") == [1, 2, 3] && Files.read("\(back)/a1") == [9, 9, 9])
            #expect(Files.read("\(back)/b2") == [4, 5, 6, 7])
            let next = try await pull(server) { $0.deletes = true }
            #expect(next.failures == [] && TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// With the time of the source it would be the same ever after.
    @Test(arguments: [false, true]) func whatIsWrittenMeanwhileKeepsItsTime(restoresTime: Bool) async throws {
        try write("one", [1, 2, 3])
        try write("two", [4, 5, 6, 7])
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            for name in ["one", "two"] { age("\(source)/\(name)") }
            _ = try await push(server)
            let synced = try await pull(server, deletes: false, whenComparing: "two") {
                edit("\(back)/one", [9, 9, 9], restoresTime: restoresTime)
            }
            #expect(synced.failures.count == 1 && synced.failures[0].hasPrefix("attributes one: sourceChanged "))
            #expect(synced.summary?.failed == 1 && synced.summary?.attributes == 1)
            #expect(Files.read("\(back)/one") == [9, 9, 9])
            let next = try await pull(server)
            #expect(next.failures == [] && next.lines.contains("changed one"))
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// The sync itself gives a file another name, which changes it too.
    @Test func aNewNameIsNoChangeOfTheContent() async throws {
        try write("a", [1, 2, 3])
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            #expect(link("\(source)/a", "\(source)/b") == 0)
            age("\(source)/a")
            _ = try await push(server)
            let synced = try await pull(server)
            #expect(synced.failures == [] && synced.lines.contains("hard-link b"))
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }
}
