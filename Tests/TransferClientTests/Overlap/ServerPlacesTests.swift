import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

/// Sources that contain the server's directory, and targets inside it.
@Suite struct ServerPlacesTests {
    private func client(_ server: RunningServer, _ folder: String = "") throws -> TransferClient {
        try TransferClient(server: server.address(folder), configuration: .plain())
    }

    private func stored(_ server: RunningServer) -> [String] {
        server.tree.filter { !$0.hasPrefix(".transfer") && !isDirectory(server.directory.path("store/\($0)")) }
    }

    @Test(arguments: [false, true]) func aPushLeavesOutTheServersDirectory(archives: Bool) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("a"), "a")
            try Files.write(server.directory.path("store/kept"), "kept")
            var configuration = ClientConfiguration.plain()
            configuration.archives = archives
            let client = try TransferClient(server: server.address("w"), configuration: configuration)
            for _ in 0..<2 {
                let reports = try await client.push(Upload.path(server.directory.path(""), name: "home"))
                let skipped = reports.filter { $0.result == .sourceSkipped }
                #expect(skipped.map(\.source) == [server.directory.path("store")], "\(reports)")
                #expect(skipped.allSatisfy { $0.message == Failure.servers.message })
            }
            #expect(stored(server) == ["kept", "w/home/a"])
        }
    }

    @Test func whatTheServersFolderIsInIsNotPushed() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/p/f"), "f")
            let source = Upload.path(server.directory.path("store/p"))
            let report = try #require(try await client(server, "p/x").push(source).first)
            #expect(report.result == .sourceSkipped && report.isNamed)
            // A copy to another folder ends, because the target is not in the source.
            let other = try #require(try await client(server, "q").push(source).first)
            #expect(other.result == .committed)
            #expect(stored(server) == ["p/f", "q/p/f"])
        }
    }

    /// A directory of another server is sent like any other directory.
    @Test func theDirectoryOfAnotherServerIsSent() async throws {
        try await withServer { server in
            try await withServer { other in
                try Files.write(other.directory.path("store/f"), "f")
                let modified = try SourceDirectory(other.directory.path("store")).modified
                let reports = try await client(server).push(Upload.path(other.directory.path(""), name: "home"))
                #expect(reports.contains { $0.result == .committed && $0.storedPath == "home/store/f" }, "\(reports)")
                #expect(Files.tree(other.directory.path("store")).allSatisfy { !$0.contains("witness") })
                // The check for a server's directory must not change that directory.
                #expect(try SourceDirectory(other.directory.path("store")).modified == modified)
                let synced = await Synced(try client(server, "s").sync(from: other.directory.path("")))
                #expect(synced.failure == nil && server.stored("s/store/f") == Array("f".utf8))
            }
        }
    }

    @Test func aSyncLeavesOutTheServersDirectory() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("docs/a"), "a")
            for _ in 0..<3 {
                let synced = await Synced(try client(server, "bk").sync(from: server.directory.path("")))
                #expect(synced.failure == nil && synced.failures.count == 1, "\(synced)")
                #expect(synced.summary?.excluded == 1)
            }
            #expect(stored(server) == ["bk/docs/a"])
        }
    }

    @Test func aSyncWithItselfIsRefused() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/p/f"), "f")
            for (folder, directory) in [("p", "store/p"), ("p/x", "store/p"), ("", "store")] {
                let synced = await Synced(try client(server, folder).sync(from: server.directory.path(directory)))
                #expect(synced.failure?.reason == .rejected(.sourceSkipped), "\(folder)")
            }
            for (folder, directory) in [("p", "store/p"), ("", "store")] {
                let synced = await Synced(try client(server, folder).sync(to: server.directory.path(directory)))
                #expect(synced.failure?.reason == .rejected(.sourceSkipped), "\(folder)")
            }
            #expect(stored(server) == ["p/f"])
        }
    }

    /// A sync from the server into a directory that contains the server's directory neither changes nor removes the
    /// latter.
    @Test func aSyncFromTheServerLeavesItsDirectoryAlone() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/f"), "f")
            try Files.write(server.directory.path("old"), "old")
            var options = SyncOptions()
            options.deletes = true
            let synced = await Synced(try client(server).sync(to: server.directory.path(""), options: options))
            #expect(synced.failure == nil && synced.failures.count == 1, "\(synced)")
            #expect(stored(server) == ["f"])
            #expect(Files.read(server.directory.path("f")) == Array("f".utf8))
            #expect(Files.read(server.directory.path("old")) == nil)
        }
    }

    @Test(arguments: [false, true]) func aPullIntoTheServersDirectoryLeavesItselfOut(isThere: Bool) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/p/f"), "f")
            if isThere { try Files.write(server.directory.path("store/p/copy/old"), "old") }
            let target = server.directory.path("store/p/copy")
            for _ in 0..<2 {
                let (events, failure) = await all(try client(server).pull(["p"], to: target))
                let reports = events.compactMap { if case .finished(let report) = $0 { report } else { nil } }
                #expect(failure == nil)
                let skipped = reports.filter { $0.result == .skipped }.map(\.source)
                #expect(isThere || skipped.isEmpty || skipped == ["p/copy"])
                let synced = await Synced(try client(server).sync(to: target))
                #expect(synced.failure == nil && synced.failures.count == 1, "\(synced)")
            }
            #expect(server.tree.allSatisfy { !$0.contains("copy/p/copy") }, "\(server.tree)")
            #expect(server.stored("p/copy/p/f") == Array("f".utf8))
        }
    }

    @Test func aWatchLeavesOutTheServersDirectory() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("docs/a"), "a")
            var options = WatchOptions()
            (options.settle, options.endsWhenSent) = (0, true)
            for _ in 0..<2 {
                let (events, failure) = await all(
                    try client(server, "w").watch(server.directory.path(""), options))
                #expect(failure == nil)
                #expect(
                    events.contains {
                        guard case .notice(let text) = $0 else { return false }
                        return text == "left out  \(server.directory.path("store")): \(Failure.servers.message)"
                    }, "\(events)")
            }
            #expect(stored(server) == ["w/docs/a"])
            let (_, failure) = await all(try client(server, "w").watch(server.directory.path("store"), options))
            #expect(failure?.reason == .rejected(.sourceSkipped))
        }
    }

    /// The welcome identifies the server's directory, also to a client that sees only a part of the tree.
    @Test func theServerSaysWhichDirectoryItHas() async throws {
        try await withServer { server in
            let queue = RequestQueue()
            _ = await RequestRun(try client(server).requestContext, queue).run()
            var status = Glibc.stat()
            try Files.check(stat(server.directory.path("store"), &status), "stat")
            #expect(queue.welcome?.directory != nil && queue.welcome?.directory == DirectoryIdentity.of(status))
        }
    }

    /// A pull also makes a folder `.transfer` in its target, for incomplete files, but without a catalog.
    @Test func onlyADirectoryWithACatalogIsAServers() throws {
        let directory = try TemporaryDirectory()
        let opened = try SourceDirectory(directory.path)
        #expect(!ServerPlaces.isServers(opened))
        try Files.write(directory.path(".transfer/lock"), "")
        #expect(!ServerPlaces.isServers(opened))
        try Files.write(directory.path(".transfer/catalog.sqlite"), "")
        #expect(ServerPlaces.isServers(opened) && ServerPlaces.mayBeStored(directory.path("")))
    }

    @Test func whatHoldsAPath() {
        #expect(ServerPlaces.holds("", "a") && ServerPlaces.holds("a", "a/b") && ServerPlaces.holds("a", "a"))
        #expect(!ServerPlaces.holds("a", "ab") && !ServerPlaces.holds("a/b", "a") && !ServerPlaces.holds("a", ""))
    }
}
