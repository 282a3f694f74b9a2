import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Entries in the way of a sync, and failures during a sync.
extension SyncTests {
    private func copy(_ server: RunningServer) -> TreeFacts { TreeFacts(server.directory.path("store/copy")) }

    @Test func aFolderThatBecomesAFileAndTheOtherWayRound() async throws {
        try write("was-folder/x", [1])
        try write("was-file", [2])
        #expect(symlink("x", "\(source)/was-link") == 0)
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            TemporaryDirectory.remove("\(source)/was-folder")
            for name in ["was-file", "was-link"] { #expect(unlink("\(source)/\(name)") == 0) }
            try write("was-folder", [3])
            try write("was-file/in/it", [4])
            try write("was-link", [5])
            let careful = try await push(server)
            #expect(careful.failures.count == 1 && careful.failures[0].contains("--delete"), "\(careful.failures)")
            let synced = try await push(server) { $0.deletes = true }
            #expect(synced.failures == [])
            #expect(copy(server).lines == TreeFacts(source).lines)
            let pulled = try await pull(server) { $0.deletes = true }
            #expect(pulled.failures == [])
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// A renamed file is moved on both sides and not sent again; a file of the same size and time with other content is
    /// sent.
    @Test func renamedFilesAreMoved() async throws {
        let content = SplitMix64.bytes(seed: 9, 300_000)
        try write("a/one", content)
        try write("a/two", content.reversed())
        for name in ["a/one", "a/two"] { age("\(source)/\(name)") }
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            try Files.makeDirectory("\(source)/b")
            #expect(rename("\(source)/a/one", "\(source)/b/uno") == 0)
            #expect(rename("\(source)/a/two", "\(source)/b/two") == 0)
            try write("b/two", SplitMix64.bytes(seed: 10, 300_000))
            age("\(source)/b/two")
            let synced = try await push(server) { $0.deletes = true }
            #expect(synced.failures == [])
            #expect(synced.summary?.moved == 1 && synced.summary?.sent == 1)
            #expect(copy(server).lines == TreeFacts(source).lines)
            let pulled = try await pull(server) { $0.deletes = true }
            #expect(pulled.failures == [] && pulled.summary?.moved == 1 && pulled.summary?.sent == 1)
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// Names that share one file in the target but are several files in the source are separated, even if only
    /// attributes differ.
    @Test(arguments: [1, 2], [false, true])
    func namesOfOneFileBecomeFiles(_ time: Int, isDigestUnknown: Bool) async throws {
        try write("a", [1, 2, 3])
        for name in ["b", "c", "d"] { #expect(link("\(source)/a", "\(source)/\(name)") == 0) }
        age("\(source)/a")
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            for name in ["b", "c"] { #expect(unlink("\(source)/\(name)") == 0) }
            try write("b", [1, 2, 3])
            #expect(link("\(source)/b", "\(source)/c") == 0)
            age("\(source)/b", 1_234_567_889 + time)
            // A new link to a file changes its version, so the server no longer knows the digest.
            if isDigestUnknown {
                let copy = server.directory.path("store/copy")
                #expect(link("\(copy)/a", "\(copy)/e") == 0 && unlink("\(copy)/e") == 0)
                age("\(copy)/a", 1_234_567_890)
                age("\(source)/a", 1_234_567_880)
                age("\(source)/b", 1_234_567_881)
            }
            let synced = try await push(server) { $0.deletes = true }
            #expect(synced.failures == [])
            #expect(copy(server).lines == TreeFacts(source).lines)
            let again = try await push(server) { $0.deletes = true }
            #expect(again.lines == [])
            let pulled = try await pull(server) { $0.deletes = true }
            #expect(pulled.failures == [])
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// The folder for parts of long files has been removed by the time that an entry is replaced by way of that folder.
    @Test func linksAreReplacedBehindLongFiles() async throws {
        for name in ["a", "b"] { try write(name, [1]) }
        #expect(symlink("a", "\(source)/l") == 0)
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            try write("long", SplitMix64.bytes(seed: 3, 2 * Limits.blockSize + 1))
            for name in ["b", "l"] { #expect(unlink("\(source)/\(name)") == 0) }
            #expect(link("\(source)/a", "\(source)/b") == 0 && symlink("b", "\(source)/l") == 0)
            _ = try await push(server)
            let pulled = try await pull(server)
            #expect(pulled.failures == [])
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// Another process has stored or linked the file, so the server has no digest; a comparison of content reads the
    /// file.
    @Test func whatTheServerKnowsNoDigestOfIsRead() async throws {
        try write("a", [1, 2, 3])
        try write("b", [4, 5, 6])
        for name in ["a", "b"] { age("\(source)/\(name)") }
        try await withServer { server in
            _ = try await push(server)
            let stored = server.directory.path("store/copy")
            for (name, content) in [("a", [1, 2, 3]), ("b", [4, 5, 7])] as [(String, [UInt8])] {
                #expect(unlink("\(stored)/\(name)") == 0)
                try write(name, content, in: stored)
                #expect(chmod("\(stored)/\(name)", 0o644) == 0 && chmod("\(source)/\(name)", 0o644) == 0)
                age("\(stored)/\(name)")
            }
            let checked = try await push(server) { ($0.isDryRun, $0.comparesContent) = (true, true) }
            #expect(checked.lines.filter { !$0.hasPrefix("attributes") } == ["changed b"])
        }
    }

    /// Modification times are compared with each other and never with a clock: before 1970, far in the future, and from
    /// another machine.
    @Test func clocksDoNotMatter() async throws {
        for (name, seconds) in [("old", -1_000_000), ("future", 4_000_000_000), ("epoch", 0)] {
            try write(name, [1])
            age("\(source)/\(name)", seconds)
        }
        try await withServer { server in
            let synced1 = try await push(server)
            #expect(synced1.failures == [])
            #expect(copy(server).lines == TreeFacts(source).lines)
            let synced2 = try await push(server)
            #expect(synced2.lines == [])
        }
    }

    @Test func longNamesGoAndLongerPathsAreTold() async throws {
        let longest = String(repeating: "n", count: 255)
        try write(longest, [1])
        // Deeper than any path in the protocol; made step by step, because no system call takes a path of this length.
        let deep = open(source, O_RDONLY)
        var folder = deep
        for _ in 0..<130 {
            #expect(mkdirat(folder, "d", 0o755) == 0)
            let next = openat(folder, "d", O_RDONLY)
            close(folder)
            folder = next
        }
        close(folder)
        try await withServer { server in
            let synced = try await push(server) { $0.deletes = true }
            #expect(access(server.directory.path("store/copy/\(longest)"), F_OK) == 0)
            #expect(!synced.failures.isEmpty && synced.failures.allSatisfy { $0.contains("components") })
            #expect(synced.summary?.deleted == 0)
        }
    }

    @Test func twoAtOnceLeaveOneTree() async throws {
        try makeTree()
        for number in 0..<200 { try write("many/\(number)", [UInt8(number)]) }
        try await withServer { server in
            for number in 0..<50 { try Files.write(server.directory.path("store/copy/stale/\(number)"), [1]) }
            async let one = push(server) { $0.deletes = true }
            async let other = push(server) { $0.deletes = true }
            _ = try await (one, other)
            let last = try await push(server) { $0.deletes = true }
            #expect(last.failures == [])
            #expect(copy(server).lines == TreeFacts(source).lines)
        }
    }

    @Test func whatIsLeftOutStaysOnBothSides() async throws {
        try write("a.txt", [1])
        try write("cache/big", [2])
        try write("b.tmp", [3])
        try await withServer { server in
            for path in ["cache/theirs", "keep/c.tmp", "gone"] {
                try Files.write(server.directory.path("store/copy/\(path)"), [7])
            }
            var configuration = ClientConfiguration.plain()
            configuration.selection.rules = [try PathRule(.exclude, "*.tmp"), try PathRule(.exclude, "cache/")]
            let client = try TransferClient(server: server.address("copy"), configuration: configuration)
            var options = SyncOptions()
            options.deletes = true
            let synced = await Synced(client.sync(from: source, options: options))
            #expect(synced.failures == [] && synced.summary?.excluded == 2)
            #expect(
                Files.tree(server.directory.path("store/copy")) == ["a.txt", "cache/theirs", "keep/c.tmp"])
        }
    }

    /// Without its rules the sync would send files that they hide. A push refuses this ignore file, too.
    @Test(arguments: [true, false]) func anIgnoreFileThatIsNoFileStopsTheSync(isLink: Bool) async throws {
        try write("secret", [1])
        try write("rules", Array("secret\n".utf8))
        #expect((isLink ? symlink("rules", "\(source)/.ignored") : mkdir("\(source)/.ignored", 0o755)) == 0)
        try await withServer { server in
            var configuration = ClientConfiguration.plain()
            configuration.selection.ignoreFile = ".ignored"
            let client = try TransferClient(server: server.address("copy"), configuration: configuration)
            let synced = await Synced(client.sync(from: source))
            #expect(synced.failure?.reason == .rejected(.sourceUnreadable), "\(String(describing: synced.failure))")
            #expect(server.tree == [])
        }
    }

    /// Both sides are scanned at the same time, and only the local side has ignore files.
    @Test func ignoreFilesLeaveOutWhatOnlyTheServerHas() async throws {
        try write(".ignored", Array("*.tmp\nold/\n".utf8))
        try write("d/.ignored", Array("!kept.tmp\n/here\n".utf8))
        for path in ["a", "d/kept.tmp", "d/here"] { try write(path, [1]) }
        try await withServer { server in
            for path in ["b.tmp", "old/x/y", "d/here", "d/e/here", "e/old/z", "e/gone", "gone"] {
                try Files.write(server.directory.path("store/copy/\(path)"), [7])
            }
            var configuration = ClientConfiguration.plain()
            configuration.selection.ignoreFile = ".ignored"
            let client = try TransferClient(server: server.address("copy"), configuration: configuration)
            var options = SyncOptions()
            options.deletes = true
            let synced = await Synced(client.sync(from: source, options: options))
            #expect(synced.failures == [] && synced.summary?.excluded == 1 && synced.summary?.deletionStop == nil)
            #expect(
                Set(Files.tree(server.directory.path("store/copy"))) == [
                    ".ignored", "a", "b.tmp", "d/.ignored", "d/kept.tmp", "d/here", "e/old/z", "old/x/y",
                ])
            #expect(Files.read(server.directory.path("store/copy/d/here")) == [7])
            let again = await Synced(client.sync(from: source, options: options))
            #expect(again.lines == [] && again.summary?.isUnchanged == true)
        }
    }

    @Test func aFIFOIsLeftOutAndTold() async throws {
        try write("a", [1])
        #expect(mkfifo("\(source)/pipe", 0o600) == 0)
        try await withServer { server in
            let synced = try await push(server)
            #expect(synced.summary?.failed == 0 && synced.summary?.excluded == 1)
            #expect(synced.changes.contains { $0.action == .skipped && $0.path == "pipe" })
        }
    }

    @Test func nothingIsDoneForATry() async throws {
        try makeTree()
        try await withServer { server in
            let foreseen = try await push(server) { $0.isDryRun = true }
            #expect(server.tree == [] && foreseen.summary?.sent == 6)
            let done = try await push(server)
            #expect(Set(foreseen.lines) == Set(done.lines).subtracting(["attributes "]))
            let pulled = try await pull(server) { $0.isDryRun = true }
            #expect(pulled.summary?.sent == 6 && access(back, F_OK) != 0)
        }
    }

    @Test func whatIsNoFolderIsRefused() async throws {
        try write("a", [1])
        try await withServer { server in
            _ = try await push(server)
            let file = await Synced(try client(server, "copy/a").sync(to: back))
            #expect(file.failure?.reason == .rejected(.wrongForm))
            let nothing = await Synced(try client(server, "no/such").sync(to: back))
            #expect(nothing.failure?.reason == .rejected(.notFound) && access(back, F_OK) != 0)
            let missing = await Synced(try client(server).sync(from: here.path("missing")))
            #expect(missing.failure?.reason == .rejected(.sourceUnreadable))
        }
    }

    /// A read-only folder is made writable for the changes.
    @Test func closedFoldersAreChanged() async throws {
        try write("d/a", [1])
        #expect(chmod("\(source)/d", 0o555) == 0)
        try await withServer { server in
            let synced3 = try await push(server)
            #expect(synced3.failures == [])
            #expect(chmod("\(source)/d", 0o755) == 0)
            try write("d/b", [2])
            #expect(chmod("\(source)/d", 0o555) == 0)
            let synced4 = try await push(server)
            #expect(synced4.failures == [])
            #expect(copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// A file that has become a link since the scan is not sent as the target of that link.
    @Test func aLinkInThePlaceOfAFileIsNotFollowed() async throws {
        try write("a", [1])
        try Files.write(here.path("secret"), [7])
        var scan = LocalScan(
            try LocalTree(path: source), at: try SourceRoot(source), isSource: true, SyncFilter(Selection()))
        let files = try scan.run().0.entries.map { SyncPlan.File(entry: $0, isNew: true) }
        #expect(unlink("\(source)/a") == 0)
        #expect(symlink(here.path("secret"), "\(source)/a") == 0)
        try await withServer { server in
            let target = RemoteTarget(client: try client(server), root: try SourceRoot(source), keepsOwners: false)
            let results = Locked<[ResultCode]>([])
            try await target.take(files, { _ in }) { _, result, _ in results.withLock { $0.append(result) } }
            #expect(results.withLock { $0.count } == 1 && results.withLock { $0.allSatisfy { !$0.isSuccess } })
            #expect(server.tree == [])
        }
    }
}
