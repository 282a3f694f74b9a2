import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Names in the server's directory that no path can contain: a listing without them is incomplete, and the client knows
/// that.
@Suite struct UnlistedNamesTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    /// Makes a file with a name of any bytes.
    private func make(_ name: [UInt8], in folder: String, _ server: RunningServer) throws {
        let path = Array(server.directory.path("store/\(folder)").utf8) + [UInt8(ascii: "/")] + name + [0]
        let number = path.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { path in
            path.baseAddress.map { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644) } ?? -1
        }
        try Files.check(number, "open")
        close(number)
    }

    /// Runs a test against a server with two valid files in two folders, and two invalid names in one of the folders.
    private func withNames(
        _ body: @escaping @Sendable (RunningServer, TransferClient) async throws -> Void
    ) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/t/a"), [1])
            try Files.write(server.directory.path("store/t/d/b"), [2])
            try make([0x62, 0xFF], in: "t/d", server)
            try make(Array(".transfer".utf8), in: "t/d", server)
            try await body(server, TransferClient(server: server.address("t"), configuration: .plain()))
        }
    }

    @Test func aListSaysHowMany() async throws {
        try await withNames { _, client in
            let told = Locked<[UnlistedNames]>([])
            let listed = await all(client.list(isRecursive: true) { names in told.withLock { $0.append(names) } })
            #expect(listed.failure == nil && Set(listed.events.map(\.path)) == ["a", "d", "d/b"])
            #expect(told.withLock { $0 } == [UnlistedNames(folder: "d", count: 2)])
        }
    }

    @Test func aPullFailsForThemAlone() async throws {
        let place = here.path("pulled")
        try await withNames { server, _ in
            for round in 1...2 {
                let pulled = try await Pulled(["t"], from: server.address(""), to: place)
                #expect(pulled.failure == nil)
                #expect(pulled.results["t/a"] == (round == 1 ? .committed : .alreadyStored))
                #expect(pulled.results["t/d"] == .invalidPath, "\(pulled.reports)")
            }
            #expect(Files.tree(place) == ["t/a", "t/d/b"])
            // A folder with invalid names counts as different.
            let again = try await Pulled(["t"], from: server.address(""), to: place) { $0.asksByFolder = true }
            #expect(again.folders.map(\.source) == ["t"] && again.results["t/d"] == .invalidPath)
        }
    }

    @Test func aPatternThatHasLookedThereFails() async throws {
        let place = here.path("pulled")
        try await withNames { server, _ in
            let pulled = try await Pulled(
                [Download("t/d/*", isPattern: true), Download("t/*", isPattern: true)], from: server.address(""),
                to: place)
            #expect(pulled.results["t/d/*"] == .invalidPath && pulled.results["t/d/b"] == .committed)
            #expect(pulled.reports.filter(\.isPattern).allSatisfy { $0.message.hasPrefix("In 't/d': 2 names") })
        }
    }

    @Test(arguments: [false, true]) func aSourceThatIsNotWholeDeletesNothing(isDryRun: Bool) async throws {
        let place = here.path("synced")
        try Files.write("\(place)/extra", [9])
        try await withNames { _, client in
            var options = SyncOptions()
            (options.deletes, options.isDryRun) = (true, isDryRun)
            let synced = await Synced(client.sync(to: place, options: options))
            #expect(synced.summary?.failed == 1 && synced.summary?.deletionStop != nil)
            #expect(synced.changes.contains { $0.action == .unreadable && $0.path == "d" && !$0.isDone })
            #expect(Files.tree(place) == (isDryRun ? ["extra"] : ["a", "d/b", "extra"]))
        }
    }

    /// Files with valid names are removed; invalid names and their folders stay and are reported.
    ///
    /// - Parameter ignores: whether an ignore file decides after the listing which files are excluded.
    @Test(arguments: [false, true]) func aTargetKeepsThem(ignores: Bool) async throws {
        let source = here.path("source")
        try Files.write("\(source)/a", [1, 2])
        if ignores { try Files.write("\(source)/.ignored", Array("*.bak\n".utf8)) }
        try await withNames { server, plain in
            var configuration = plain.requestContext.configuration
            if ignores { configuration.selection.ignoreFile = ".ignored" }
            let client = try TransferClient(server: plain.server, configuration: configuration)
            var options = SyncTests.options
            #expect(await Synced(client.sync(from: source, options: options)).failures == [])
            (options.deletes, options.keepsInTrash) = (true, false)
            for round in 1...2 {
                let synced = await Synced(client.sync(from: source, options: options))
                #expect(synced.failures.count == 1 && synced.summary?.deletionStop == nil, "\(synced.failures)")
                #expect(synced.failures.first?.hasPrefix("unreadable d: ") ?? false)
                #expect(synced.summary?.deleted == (round == 1 ? 1 : 0))
            }
            #expect(Files.tree(server.directory.path("store/t")).count == (ignores ? 3 : 2))
            #expect(access(server.directory.path("store/t/d/b"), F_OK) != 0)
            // The folder is not replaced by a file either.
            try Files.write("\(source)/d", [3])
            let blocked = await Synced(client.sync(from: source, options: options))
            #expect(blocked.failures.contains { $0.hasPrefix("new d: pathConflict") }, "\(blocked.failures)")
            #expect(isDirectory(server.directory.path("store/t/d")))
        }
    }
}
