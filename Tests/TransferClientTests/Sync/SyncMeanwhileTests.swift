import CLinux
import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Another process writes to a local file during a sync.
extension SyncTests {
    /// Makes `back` equal to the folder on the server.
    ///
    /// - Parameter body: called when the file `path` is compared, or after all comparisons if `path` is nil.
    private func pull(
        _ server: RunningServer, deletes: Bool, keepsInTrash: Bool = true, backupFolder: String? = nil,
        whenComparing path: String? = nil, _ body: () throws -> Void
    ) async throws -> Synced {
        var configuration = ClientConfiguration.plain()
        (configuration.conflict, configuration.comparesContent) = (.overwrite, true)
        let client = try TransferClient(server: server.address("copy"), configuration: configuration)
        let scan = RemoteScan(client, isSource: true, wantsDigests: true, SyncFilter(Selection()))
        var local = LocalScan(
            try LocalTree(path: back), at: try SourceRoot(back), isSource: false, SyncFilter(Selection()))
        let trees = (source: try await scan.run().tree, target: try local.run().0)
        var options = Self.options
        (options.deletes, options.keepsInTrash, options.backupFolder) = (deletes, keepsInTrash, backupFolder)
        let plan = try withoutActuallyEscaping(body) { body in
            var planner = SyncPlanner(trees.source, trees.target, options) { entry, _ in
                guard let path else { return nil }
                if entry.path.string.hasSameBytes(as: path) { #expect(throws: Never.self) { try body() } }
                return true
            }
            let plan = planner.run()
            if path == nil { try body() }
            return plan
        }
        let target = LocalTarget(
            client: client, destination: try PullDirectory(path: back), keepsOwners: false, digests: [:],
            plan: plan)
        let events = EventQueue<SyncEvent>()
        let run = SyncRun(RemoteSource(client: client), trees, plan, options, try options.backup()) { events.send($0) }
        events.send(.ended(try await run.run(target)))
        events.finish(.success(()))
        return await Synced(RequestEvents(events))
    }

    /// Overwrites the first bytes of a file in place.
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
            // The file is fetched instead of moved, so neither content is lost.
            #expect(Files.read("\(back)/b1") == [1, 2, 3] && Files.read("\(back)/a1") == [9, 9, 9])
            #expect(Files.read("\(back)/b2") == [4, 5, 6, 7])
            let next = try await pull(server) { $0.deletes = true }
            #expect(next.failures == [] && TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// If the edited file got the source's time, later syncs would consider it unchanged.
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

    /// A hard link that the sync itself makes changes the file's ctime; that is not an edit.
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

    /// An edit during the sync survives where the sync would replace, create or remove the file.
    @Test(arguments: [false, true], [nil, "old"])
    func whatIsWrittenMeanwhileStays(keepsInTrash: Bool, backupFolder: String?) async throws {
        for name in ["file", "gone", "gone2"] { try write(name, [1, 2, 3]) }
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            try write("file", [4, 5, 6, 7])
            try write("fresh", [7])
            for name in ["gone", "gone2"] { #expect(unlink("\(source)/\(name)") == 0) }
            _ = try await push(server) { $0.deletes = true }
            let synced = try await pull(server, deletes: true, keepsInTrash: keepsInTrash, backupFolder: backupFolder) {
                edit("\(back)/file", [9, 9, 9], restoresTime: true)
                try Files.write("\(back)/fresh", [8, 8])
            }
            #expect(synced.failures.count == 2 && synced.failures.allSatisfy { $0.contains(": sourceChanged ") })
            #expect(Files.read("\(back)/file") == [9, 9, 9] && Files.read("\(back)/fresh") == [8, 8])
            // After any failure, the sync removes nothing.
            #expect(Files.read("\(back)/gone") == [1, 2, 3])
            for name in ["fresh", "file"] { #expect(unlink("\(back)/\(name)") == 0) }
            let removed = try await pull(
                server, deletes: true, keepsInTrash: keepsInTrash, backupFolder: backupFolder
            ) {
                edit("\(back)/gone", [9, 9, 9], restoresTime: true)
            }
            #expect(removed.failures.count == 1 && removed.failures[0].hasPrefix("removed gone: sourceChanged "))
            #expect(Files.read("\(back)/gone") == [9, 9, 9] && Files.read("\(back)/gone2") == nil)
            if let backupFolder { TemporaryDirectory.remove("\(back)/\(backupFolder)") }
            let next = try await pull(server) { $0.deletes = true }
            #expect(next.failures == [] && TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    func makeLinks() throws {
        for name in ["first", "second"] { try write(name, [1, 2, 3]) }
        #expect(symlink("a", "\(source)/link") == 0 && symlink("a", "\(source)/folder") == 0)
    }

    /// Replaces a file by a hard link, and links by a link and a folder; and makes a new link.
    func changeLinks() {
        for name in ["second", "link", "folder"] { #expect(unlink("\(source)/\(name)") == 0) }
        #expect(link("\(source)/first", "\(source)/second") == 0)
        #expect(symlink("b", "\(source)/link") == 0 && mkdir("\(source)/folder", 0o755) == 0)
        #expect(symlink("c", "\(source)/made link") == 0)
    }

    /// An edit survives also if a link, a folder or a hard link would take its place.
    @Test func whatIsWrittenInTheWayOfALinkStays() async throws {
        try makeLinks()
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            changeLinks()
            try write("made", [5])
            _ = try await push(server) { $0.deletes = true }
            let synced = try await pull(server, deletes: false) {
                edit("\(back)/second", [9, 9, 9], restoresTime: false)
                for name in ["link", "folder", "made link"] {
                    unlink("\(back)/\(name)")
                    try Files.write("\(back)/\(name)", [8])
                }
            }
            #expect(synced.failures.count == 4 && synced.failures.allSatisfy { $0.contains(": sourceChanged ") })
            #expect(Files.read("\(back)/second") == [9, 9, 9] && Files.read("\(back)/made") == [5])
            for name in ["link", "folder", "made link"] { #expect(Files.read("\(back)/\(name)") == [8]) }
            let next = try await pull(server) { $0.deletes = true }
            #expect(next.failures == [] && TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// A new file survives if it has the name of a removed folder or of a removed hard link.
    @Test(arguments: [false, true]) func whatTakesTheNameOfSomethingThatGoesStays(keepsInTrash: Bool) async throws {
        try write("a", [1, 2, 3])
        try write("folder/x", [4])
        #expect(mkdir("\(source)/empty", 0o755) == 0 && link("\(source)/a", "\(source)/b") == 0)
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            TemporaryDirectory.remove("\(source)/folder")
            #expect(rmdir("\(source)/empty") == 0 && unlink("\(source)/b") == 0)
            _ = try await push(server) { $0.deletes = true }
            let synced = try await pull(server, deletes: true, keepsInTrash: keepsInTrash) {
                #expect(rmdir("\(back)/empty") == 0 && unlink("\(back)/b") == 0)
                for name in ["empty", "b"] { try Files.write("\(back)/\(name)", [8]) }
            }
            #expect(
                synced.failures.count == 2 && synced.failures.allSatisfy { $0.contains(": sourceChanged ") },
                "\(synced.lines)")
            for name in ["empty", "b"] { #expect(Files.read("\(back)/\(name)") == [8]) }
            #expect(Files.read("\(back)/a") == [1, 2, 3] && Files.read("\(back)/folder/x") == nil)
            let next = try await pull(server) { $0.deletes = true }
            #expect(next.failures == [] && TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    /// The sync itself changes the ctime of a file with several names before it removes one of them; that is not an
    /// edit.
    @Test(arguments: [false, true]) func aNameThatGoesIsNoChangeOfTheFile(keepsInTrash: Bool) async throws {
        try write("a", [1, 2, 3])
        try write("c", [1, 2, 3, 4])
        #expect(link("\(source)/a", "\(source)/b") == 0 && link("\(source)/c", "\(source)/d") == 0)
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            for name in ["b", "c", "d"] { #expect(unlink("\(source)/\(name)") == 0) }
            age("\(source)/a")
            _ = try await push(server) { $0.deletes = true }
            let synced = try await pull(server, deletes: true, keepsInTrash: keepsInTrash) {}
            #expect(synced.failures == [] && synced.summary?.deleted == 3)
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }
}
