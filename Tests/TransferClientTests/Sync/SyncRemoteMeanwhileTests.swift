import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Another client stores files on the server during a push by sync.
extension SyncTests {
    /// Makes the server's folder equal to `source`.
    ///
    /// - Parameter body: called after all comparisons and before any change.
    private func push(
        _ server: RunningServer, keepsInTrash: Bool = true, whenCompared body: () async throws -> Void
    ) async throws -> Synced {
        var configuration = ClientConfiguration.plain()
        (configuration.conflict, configuration.comparesContent) = (.overwrite, true)
        let client = try TransferClient(server: server.address("copy"), configuration: configuration)
        let tree = try LocalTree(path: source)
        var local = LocalScan(tree, at: try SourceRoot(source), isSource: true, SyncFilter(Selection()))
        let scan = RemoteScan(client, isSource: false, wantsDigests: true, SyncFilter(Selection()))
        let trees = (source: try local.run().0, target: try await scan.run().tree)
        var options = Self.options
        (options.deletes, options.keepsInTrash) = (true, keepsInTrash)
        let known = KnownDigests(tree)
        var planner = SyncPlanner(trees.source, trees.target, options) { entry, there in
            known.hasContent(of: there, there.digest, entry)
        }
        let plan = planner.run()
        try await body()
        let target = RemoteTarget(
            client: client, root: try SourceRoot(source), keepsOwners: false, plan: plan, comparesContent: true)
        let events = EventQueue<SyncEvent>()
        let read = LocalSource(path: source, top: try tree.top(), pool: client.pool)
        let run = SyncRun(read, trees, plan, options) { events.send($0) }
        events.send(.ended(try await run.run(target)))
        events.finish(.success(()))
        return await Synced(RequestEvents(events))
    }

    /// Stores other content at a path, as another client would.
    private func overwrite(_ server: RunningServer, _ name: String, _ content: [UInt8]) async throws {
        try Files.write(here.path("other/\(name)"), content)
        var configuration = ClientConfiguration.plain()
        configuration.conflict = .overwrite
        let client = try TransferClient(server: server.address("copy"), configuration: configuration)
        for try await event in client.push([.path(here.path("other/\(name)"), name: name)]) {
            if case .finished(let report) = event { #expect(report.result == .committed) }
        }
    }

    private func stored(_ server: RunningServer, _ name: String) -> [UInt8]? {
        Files.read(server.directory.path("store/copy/\(name)"))
    }

    private func copy(_ server: RunningServer) -> TreeFacts { TreeFacts(server.directory.path("store/copy")) }

    /// If the other client's file got the source's time, later syncs would consider it unchanged.
    @Test func whatAnotherClientStoresKeepsItsTime() async throws {
        try write("one", [1, 2, 3])
        try write("two", [4, 5, 6, 7])
        try await withServer { server in
            _ = try await push(server)
            for name in ["one", "two"] { age("\(source)/\(name)") }
            let synced = try await push(server) { try await overwrite(server, "one", [9, 9, 9]) }
            #expect(synced.failures.count == 1 && synced.failures[0].hasPrefix("attributes one: sourceChanged "))
            #expect(synced.summary?.failed == 1 && synced.summary?.attributes == 1)
            #expect(stored(server, "one") == [9, 9, 9])
            let next = try await push(server)
            #expect(next.failures == [] && next.lines.contains("changed one"))
            #expect(copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// The server compares the version when the upload gets its path, not only when the folder is listed.
    @Test func whatAnotherClientStoresIsNotReplaced() async throws {
        for name in ["one", "two", "same"] { try write(name, [1, 2, 3]) }
        #expect(symlink("one", "\(source)/link") == 0)
        try await withServer { server in
            _ = try await push(server)
            for name in ["one", "two", "same", "new", "new too", "long"] {
                try write(name, SplitMix64.bytes(seed: 7, name == "long" ? Limits.blockSize + 1 : 5))
            }
            #expect(unlink("\(source)/link") == 0)
            try write("link", [1, 2, 3])
            let synced = try await push(server) {
                for name in ["one", "new", "link", "long"] { try await overwrite(server, name, [9, 9, 9]) }
                try await overwrite(server, "same", SplitMix64.bytes(seed: 7, 5))
            }
            // The file that already has the new content is reported as well, because its time differs.
            let told = ["changed one", "new long", "new new", "changed link", "attributes same"].map {
                "\($0): sourceChanged "
            }
            #expect(synced.failures.count == 5, "\(synced.failures)")
            for line in told { #expect(synced.failures.contains { $0.hasPrefix(line) }, "\(line): \(synced.failures)") }
            for name in ["one", "new", "link", "long"] { #expect(stored(server, name) == [9, 9, 9]) }
            for name in ["two", "same", "new too"] { #expect(stored(server, name) == SplitMix64.bytes(seed: 7, 5)) }
            let next = try await push(server)
            #expect(next.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    @Test func whatAnotherClientStoresIsNotMoved() async throws {
        try write("a1", [1, 2, 3])
        try write("a2", [4, 5, 6, 7])
        try await withServer { server in
            _ = try await push(server)
            for name in ["1", "2"] { #expect(rename("\(source)/a\(name)", "\(source)/b\(name)") == 0) }
            let synced = try await push(server) { try await overwrite(server, "a1", [9, 9, 9]) }
            #expect(synced.failures.count == 1 && synced.failures[0].hasPrefix("moved b1: sourceChanged "))
            #expect(synced.summary?.failed == 1 && synced.summary?.moved == 1)
            // The file is sent instead of moved, so neither content is lost.
            #expect(stored(server, "b1") == [1, 2, 3] && stored(server, "a1") == [9, 9, 9])
            #expect(stored(server, "b2") == [4, 5, 6, 7])
            let next = try await push(server) { $0.deletes = true }
            #expect(next.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    @Test(arguments: [false, true]) func whatAnotherClientStoresIsNotRemoved(keepsInTrash: Bool) async throws {
        for name in ["stays", "gone", "gone2"] { try write(name, [1, 2, 3]) }
        #expect(symlink("a", "\(source)/link") == 0)
        try await withServer { server in
            _ = try await push(server)
            for name in ["gone", "gone2", "link"] { #expect(unlink("\(source)/\(name)") == 0) }
            let synced = try await push(server, keepsInTrash: keepsInTrash) {
                try await overwrite(server, "gone", [9, 9, 9])
            }
            #expect(synced.failures.count == 1 && synced.failures[0].hasPrefix("removed gone: sourceChanged "))
            #expect(stored(server, "gone") == [9, 9, 9] && stored(server, "gone2") == nil)
            let next = try await push(server) { $0.deletes = true }
            #expect(next.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// The sync itself changes the version of a file with several names before it removes one of them; that is not an
    /// edit.
    @Test(arguments: [false, true]) func aNameThatGoesThereIsNoChangeOfTheFile(keepsInTrash: Bool) async throws {
        try write("a", [1, 2, 3])
        try write("c", [1, 2, 3, 4])
        #expect(link("\(source)/a", "\(source)/b") == 0 && link("\(source)/c", "\(source)/d") == 0)
        try await withServer { server in
            _ = try await push(server)
            #expect(unlink("\(source)/b") == 0 && unlink("\(source)/c") == 0 && unlink("\(source)/d") == 0)
            age("\(source)/a")
            let synced = try await push(server, keepsInTrash: keepsInTrash) {}
            #expect(synced.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// A file that another client stores in place of a link or a hard link is not removed.
    @Test(arguments: [false, true]) func whatTakesANameThatGoesIsNotRemoved(keepsInTrash: Bool) async throws {
        try write("a", [1, 2, 3])
        #expect(link("\(source)/a", "\(source)/b") == 0 && symlink("a", "\(source)/l") == 0)
        try await withServer { server in
            _ = try await push(server)
            for name in ["b", "l"] { #expect(unlink("\(source)/\(name)") == 0) }
            // Gives the file another version before one name is removed.
            age("\(source)/a")
            let synced = try await push(server, keepsInTrash: keepsInTrash) {
                for name in ["b", "l"] { try await overwrite(server, name, [9, 9, 9]) }
            }
            #expect(synced.failures.count == 2 && synced.failures.allSatisfy { $0.contains(": sourceChanged ") })
            for name in ["b", "l"] { #expect(stored(server, name) == [9, 9, 9]) }
            let next = try await push(server) { $0.deletes = true }
            #expect(next.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// A file that another client stores in place of a link is not replaced by a folder, a link or a hard link.
    @Test func whatTakesTheNameOfALinkStays() async throws {
        try makeLinks()
        try await withServer { server in
            _ = try await push(server)
            changeLinks()
            let names = ["second", "link", "folder", "made link"]
            let synced = try await push(server) {
                for name in names { try await overwrite(server, name, [9, 9, 9]) }
            }
            #expect(synced.failures.count == 4, "\(synced.failures)")
            for name in names { #expect(stored(server, name) == [9, 9, 9]) }
            let next = try await push(server) { $0.deletes = true }
            #expect(next.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// Another client may replace a file after the server found it already stored and before it gets its attributes.
    @Test(arguments: [false, true], [false, true])
    func whatIsFoundAlreadyIsAskedAboutOnceMore(isOverwritten: Bool, wasToBeMoved: Bool) async throws {
        try write("new", [1, 2, 3])
        age("\(source)/new")
        try await withServer { server in
            try Files.makeDirectory(server.directory.path("store/copy"))
            var target = RemoteTarget(client: try client(server), root: try SourceRoot(source), keepsOwners: false)
            var plan = SyncPlan()
            if wasToBeMoved {
                // The plan was to move another file to this path, and that has not happened.
                plan.compared[try RelativePath("new")] = SyncEntry(
                    try RelativePath("old"), .file(3), modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o644,
                    ExtraAttributes(), nil, .server(FileVersion(high: 1, low: 1), nil))
            }
            target.plan = plan
            var scan = LocalScan(
                try LocalTree(path: source), at: try SourceRoot(source), isSource: true, SyncFilter(Selection()))
            let entries = try scan.run().0.entries
            try await overwrite(server, "new", [1, 2, 3])
            let results = Locked<[ResultCode]>([])
            try await target.take(entries.map { SyncPlan.File(entry: $0, isNew: true) }, { _ in }) { _, result, _ in
                results.withLock { $0.append(result) }
            }
            if isOverwritten { try await overwrite(server, "new", [9, 9, 9]) }
            try await target.set(entries) { _, result, _ in results.withLock { $0.append(result) } }
            #expect(results.withLock { $0 } == [.alreadyStored, isOverwritten ? .sourceChanged : .completed])
            let next = try await push(server)
            #expect(next.failures == [] && copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// The attributes of a moved file are set by the version that the file had at its old path.
    @Test func aMovedFileGetsItsAttributes() async throws {
        try write("old", [1, 2, 3])
        try await withServer { server in
            _ = try await push(server)
            #expect(rename("\(source)/old", "\(source)/new") == 0 && chmod("\(source)/new", 0o600) == 0)
            let synced = try await push(server) {}
            #expect(synced.failures == [] && synced.summary?.moved == 1)
            #expect(copy(server).lines == TreeFacts(source).lines)
        }
    }

    /// Two pushes at once do not disturb each other, and a further push completes the tree.
    @Test(arguments: [true, false]) func twoSyncsOfOneFolderAtOnce(isOneSource: Bool) async throws {
        let other = isOneSource ? source : here.path("other source")
        for top in [source, other] {
            for number in 1...40 {
                try write("d\(number)/f", top == source ? [1, 2, 3] : [4, 5, 6], in: top)
                if top != source { age("\(top)/d\(number)/f") }
                if symlink("f", "\(top)/d\(number)/link") != 0 { #expect(isOneSource && errno == EEXIST) }
            }
        }
        try await withServer { server in
            let sources = [source, other]
            let clients = try sources.map { _ in try client(server) }
            let synced = await withTaskGroup(of: Synced.self) { group -> [Synced] in
                for (top, client) in zip(sources, clients) {
                    group.addTask { await Synced(client.sync(from: top, options: Self.options)) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for one in synced { #expect(one.failure == nil) }
            if isOneSource { for one in synced { #expect(one.failures == []) } }
            // Whichever push was last at each path, the next one finds every difference.
            let next = await Synced(try client(server).sync(from: other, options: Self.options))
            #expect(next.failures == [] && copy(server).lines == TreeFacts(other).lines)
        }
    }

    /// A request that the server answers with `busy` is repeated, and reported only if the server stays busy.
    @Test(arguments: [2, 3, 9]) func whoIsInTheWayIsWaitedFor(busyAnswers: Int) async throws {
        let left = Locked(busyAnswers)
        let answer = { @Sendable (id: UInt32) in
            let isBusy = left.withLock { left in
                left -= 1
                return left >= 0
            }
            return Message.outcome(Ending(id: id, code: isBusy ? .busy : .completed, count: 1))
        }
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: [.files, .trees]))
            while let arrival = peer.next() {
                switch arrival {
                case .message(.make(let make)): peer.send(answer(make.id))
                case .message(.remove(let remove)): peer.send(answer(remove.id))
                default: continue
                }
            }
        }
        let server = FakeServer(serve, serve, serve, serve)
        let client = try TransferClient(server: server.address, configuration: .plain())
        var target = RemoteTarget(client: client, keepsOwners: false)
        target.waits = [.zero, .zero]
        let entries = try ["a", "b"].map { name in
            SyncEntry(
                try RelativePath(name), .file(1), modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o644,
                ExtraAttributes())
        }
        let results = Locked<[ResultCode]>([])
        if busyAnswers % 2 == 0 {
            try await target.set(entries) { _, result, _ in results.withLock { $0.append(result) } }
        } else {
            let removals = entries.map { SyncPlan.Removal(entry: $0, entries: [$0]) }
            try await target.remove(removals, keepsInTrash: true) { _, result, _ in
                results.withLock { $0.append(result) }
            }
        }
        server.stop()
        #expect(results.withLock { $0 } == (busyAnswers < 9 ? [.completed, .completed] : [.busy, .busy]))
        #expect(left.withLock { $0 } == (busyAnswers < 9 ? -2 : 3))
    }
}
