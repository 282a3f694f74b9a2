import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

extension SyncTests {
    private func exists(_ path: String, _ server: RunningServer) -> Bool {
        access(server.directory.path("store/copy/\(path)"), F_OK) == 0
    }

    private func trashed(_ server: RunningServer) -> Set<String> {
        let paths = Files.tree(server.directory.path("store/.transfer/trash"))
        return Set(paths.map { $0.split(separator: "/").dropFirst().joined(separator: "/") })
    }

    @Test func whatTheSourceLacksGoesToTheTrash() async throws {
        try makeTree()
        try await withServer { server in
            _ = try await push(server)
            try Files.write(server.directory.path("store/copy/extra/x/y"), [1])
            try Files.write(server.directory.path("store/copy/gone"), [2])
            #expect(symlink("a", server.directory.path("store/copy/stale")) == 0)
            #expect(try await push(server).summary?.deleted == 0)
            #expect(exists("extra/x/y", server))
            let synced = try await push(server) { $0.deletes = true }
            #expect(synced.failures == [])
            #expect(synced.changes.filter { $0.action == .removed }.map(\.path).sorted() == ["extra", "gone", "stale"])
            // Counts a removed folder with everything in it.
            #expect(synced.summary?.deleted == 5)
            #expect(TreeFacts(server.directory.path("store/copy")).lines == TreeFacts(source).lines)
            #expect(trashed(server).isSuperset(of: ["copy/extra/x/y", "copy/gone"]))
        }
    }

    /// A file that a killed removal renamed is reported and kept, because that name may be its only one.
    @Test(arguments: [false, true]) func whatAKilledRemovalHasLeftIsToldAndStays(keepsInTrash: Bool) async throws {
        let witness = ".transfer-witness-0123456789abcdef0123456789abcdef-a"
        try write("b", [1])
        try write("own/\(witness)", [2])
        try await withServer { server in
            let pushed = try await push(server)
            #expect(pushed.summary?.failed == 0 && pushed.summary?.excluded == 1 && pushed.summary?.sent == 1)
            #expect(
                pushed.failures.count == 1 && pushed.failures[0].hasPrefix("skipped own/\(witness): sourceSkipped "))
            #expect(!exists("own/\(witness)", server))
            _ = try await pull(server)
            try write("gone/x", [3], in: back)
            try write("gone/\(witness)", [4], in: back)
            let pulled = try await pull(server) { ($0.deletes, $0.keepsInTrash) = (true, keepsInTrash) }
            #expect(pulled.failures.count == 1 && pulled.failures[0].hasPrefix("skipped gone/\(witness): "))
            #expect(Files.read("\(back)/gone/\(witness)") == [4] && Files.read("\(back)/gone/x") == nil)
            let checked = try await pull(server) { ($0.deletes, $0.isDryRun) = (true, true) }
            #expect(checked.failures == pulled.failures && checked.summary?.isUnchanged == true)
        }
    }

    /// A file with the name of a witness on the server is left out: a pulled copy would be mistaken for a local one.
    @Test func whatHasSuchANameThereIsLeftOut() async throws {
        let names = ["", "-a"].map { ".transfer-witness-0123456789abcdef0123456789abcdef\($0)" }
        try write("b", [1])
        try await withServer { server in
            _ = try await push(server)
            for name in names { try Files.write(server.directory.path("store/copy/\(name)"), [2]) }
            let pulled = try await pull(server) { $0.deletes = true }
            #expect(pulled.failures == [] && pulled.summary?.excluded == 2 && pulled.summary?.sent == 1)
            let checked = try await pull(server) { $0.isDryRun = true }
            #expect(checked.failures == [] && checked.summary?.isUnchanged == true)
            let pushed = try await push(server) { $0.deletes = true }
            #expect(pushed.failures == [] && names.allSatisfy { exists($0, server) })
        }
    }

    @Test func withoutATrashItIsGone() async throws {
        try write("a", [1])
        try await withServer(hasTrash: false) { server in
            _ = try await push(server)
            try Files.write(server.directory.path("store/copy/extra/x/y"), [1])
            let synced = try await push(server) { ($0.deletes, $0.keepsInTrash) = (true, false) }
            #expect(synced.failures == [] && synced.summary?.deleted == 3)
            #expect(!exists("extra", server) && trashed(server).isEmpty)
        }
    }

    @Test func whatIsHereAndNotThereGoesToTheTrashHere() async throws {
        try makeTree()
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            try write("extra/x", [1], in: back)
            try write("other", [1], in: back)
            var synced = try await pull(server) { $0.deletes = true }
            #expect(synced.failures == [] && synced.summary?.deleted == 3)
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
            let kept = Files.tree("\(back)/.transfer/trash").map {
                $0.split(separator: "/").dropFirst().joined(separator: "/")
            }
            #expect(Set(kept) == ["extra/x", "other"])
            try write("extra/x", [1], in: back)
            synced = try await pull(server) { ($0.deletes, $0.keepsInTrash) = (true, false) }
            #expect(synced.failures == [] && synced.summary?.deleted == 2)
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
            // The trash in the target is not synced.
            synced = await Synced(try client(server).sync(from: back))
            #expect(synced.lines == [])
        }
    }

    @Test func anEmptySourceEmptiesNothing() async throws {
        try write("d/a", [1])
        try await withServer { server in
            _ = try await push(server)
            #expect(unlink("\(source)/d/a") == 0)
            let refused = try await push(server) { $0.deletes = true }
            #expect(refused.failure?.reason == .rejected(.sourceSkipped))
            #expect(exists("d/a", server))
            let forced = try await push(server) { ($0.deletes, $0.isForced) = (true, true) }
            #expect(forced.failure == nil && forced.summary?.deleted == 1)
            #expect(!exists("d/a", server) && exists("d", server))
        }
    }

    @Test func moreThanIsAllowedRemovesNothing() async throws {
        try write("a", [1])
        try await withServer { server in
            _ = try await push(server)
            for name in ["x", "y", "z"] { try Files.write(server.directory.path("store/copy/\(name)"), [1]) }
            try write("b", [2])
            let synced = try await push(server) { ($0.deletes, $0.mostDeletions) = (true, 2) }
            #expect(synced.summary?.deletionStop == "3 would be removed, and 2 are allowed")
            #expect(synced.summary?.deleted == 0 && synced.summary?.sent == 1)
            #expect(["x", "y", "z", "b"].allSatisfy { exists($0, server) })
            let allowed = try await push(server) { ($0.deletes, $0.mostDeletions) = (true, 3) }
            #expect(allowed.summary?.deleted == 3 && allowed.summary?.deletionStop == nil)
        }
    }

    /// If a part of the source cannot be read, no file is known to be missing from it.
    @Test func aSourceThatCannotBeReadWholeRemovesNothing() async throws {
        try write("a", [1])
        try write("closed/b", [1])
        try await withServer { server in
            _ = try await push(server)
            try Files.write(server.directory.path("store/copy/extra"), [1])
            // Root may read every file, so the test uses a name that is not UTF-8, which cannot be sent.
            let name = Array("\(source)/".utf8) + [0xFF, 0]
            let file = open(name.map { CChar(bitPattern: $0) }, O_CREAT | O_WRONLY, 0o600)
            #expect(file >= 0)
            close(file)
            let synced = try await push(server) { $0.deletes = true }
            #expect(synced.summary?.deletionStop == "some of the source could not be read")
            #expect(synced.summary?.failed == 1 && exists("extra", server))
            #expect(synced.changes.contains { $0.action == .unreadable && $0.message.contains("not UTF-8") })
        }
    }

    @Test func nothingIsRemovedWhenTheConnectionIsLost() async throws {
        try write("a", SplitMix64.bytes(seed: 3, 3 << 20))
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/extra"), [1])
            let cuts = Array(repeating: CuttingProxy.Cut(up: 1 << 20), count: 8)
            let proxy = CuttingProxy(to: server.port, cuts: cuts)
            defer { proxy.stop() }
            var options = SyncOptions()
            options.deletes = true
            var configuration = ClientConfiguration.plain()
            configuration.retryFor = 0
            let address = try #require(ServerAddress("127.0.0.1:\(proxy.port)/copy"))
            let client = try TransferClient(server: address, configuration: configuration)
            let synced = await Synced(client.sync(from: source, options: options))
            #expect(synced.failure?.reason == .unreachable)
            #expect(exists("extra", server))
        }
    }

    /// The listing may arrive faster than the filter works.
    @Test func whatIsExcludedIsNeverRemoved() async throws {
        try write("a", [1])
        try await withServer { server in
            for number in 0..<300 {
                try Files.write(server.directory.path("store/copy/keep-\(number)/file"), [1])
            }
            var configuration = ClientConfiguration.plain()
            configuration.selection.rules = [try PathRule(.exclude, "keep-*")]
            let client = try TransferClient(server: server.address("copy"), configuration: configuration)
            var options = SyncOptions()
            (options.deletes, options.keepsInTrash) = (true, false)
            for _ in 0..<3 {
                let synced = await Synced(client.sync(from: source, options: options))
                #expect(synced.failures == [] && synced.summary?.deleted == 0)
            }
            #expect(server.tree.count == 301)
        }
    }

    @Test func whatIsLeftOutIsNotReplacedByAFolder() async throws {
        try write("notes/p.jpg", [1])
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/notes"), [7])
            var configuration = ClientConfiguration.plain()
            configuration.selection.rules = [try PathRule(.include, "*.jpg")]
            let client = try TransferClient(server: server.address("copy"), configuration: configuration)
            let synced = await Synced(client.sync(from: source))
            #expect(synced.summary?.failed == 2 && server.stored("copy/notes") == [7])
        }
    }

    @Test func aFolderInTheWayCountsAsManyRemovals() async throws {
        try write("d", [1])
        try await withServer { server in
            for name in ["x", "y"] { try Files.write(server.directory.path("store/copy/d/\(name)"), [1]) }
            let synced = try await push(server) { ($0.deletes, $0.mostDeletions) = (true, 2) }
            #expect(synced.summary?.deleted == 0 && exists("d/x", server) && exists("d/y", server))
        }
    }

    /// Where a disk is not mounted, the directory may contain only excluded entries; it counts as empty.
    @Test func whatIsLeftOutMakesNoSourceFull() async throws {
        try write("lost+found/x", [1])
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/a"), [1])
            var configuration = ClientConfiguration.plain()
            configuration.selection.rules = [try PathRule(.exclude, "lost+found/")]
            let client = try TransferClient(server: server.address("copy"), configuration: configuration)
            var options = SyncOptions()
            options.deletes = true
            let synced = await Synced(client.sync(from: source, options: options))
            #expect(synced.failure?.reason == .rejected(.sourceSkipped) && exists("a", server))
        }
    }
}
