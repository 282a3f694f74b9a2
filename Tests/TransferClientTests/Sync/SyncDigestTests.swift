import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

/// Listings of a sync have no digests; the client asks for the digests that it needs.
extension SyncTests {
    private static func digest(_ content: [UInt8]) -> Digest {
        Digest(.xxh128, content.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
    }

    private static let names = ["changed", "good", "rotten"]

    /// Answers of a server about files that all have the content 1, 2, 3: it has acknowledged other content for one of
    /// them, and another one has changed since it was listed.
    private static func entry(_ name: String, _ list: ListRequest) -> ListedEntry {
        let isDirectory = name.isEmpty
        var entry = ListedEntry(
            isDirectory ? .directory : .file, name: name, size: isDirectory ? 0 : 3,
            modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o755,
            version: FileVersion(high: 1, low: name == "changed" && list.isAboutItself ? 3 : 2), extras: .init())
        if list.wantsDetails, !isDirectory { entry.digest = digest(name == "good" ? [1, 2, 3] : [1, 2, 4]) }
        return entry
    }

    private static func serve(_ peer: FakeServer.Peer) {
        peer.welcome(Welcome(features: [.files, .trees]))
        while let arrival = peer.next() {
            switch arrival {
            case .message(.list(let list)):
                let found = list.isAboutItself ? [list.path] : names
                peer.send(
                    .entries(Entries(id: list.id, found.map { entry($0, list) })),
                    .outcome(Ending(id: list.id, code: .completed, count: UInt64(found.count))))
            case .message(.fetch(let fetch)):
                peer.send(
                    .file(
                        FetchedFile(
                            id: fetch.id, permissions: 0o644, size: 3, modified: .init(seconds: 1, nanoseconds: 0),
                            version: FileVersion(high: 1, low: 2))))
                var frame: [UInt8] = []
                FrameHeader(.data, bodyLength: 3).encode(into: &frame)
                peer.wire.send(frame + [1, 2, 3])
                peer.send(.end(End(size: 3, digest: digest([1, 2, 3]))))
            default: continue
            }
        }
    }

    /// A file that cannot be read counts as neither equal nor different: it is not sent, and no hard link to it is
    /// made.
    @Test func whatCannotBeReadIsToldAndNoDifference() async throws {
        try write("closed", [1, 2, 3])
        try write("open", [4, 5, 6])
        // One file in the target, and two in the source.
        #expect(link("\(source)/open", "\(source)/parted") == 0)
        try await withServer { server in
            _ = try await push(server)
            #expect(unlink("\(source)/parted") == 0)
            try write("parted", [4, 5, 6])
            for name in ["closed", "open", "parted"] { age("\(source)/\(name)") }
            #expect(chmod("\(source)/parted", 0) == 0)
            #expect(link("\(source)/closed", "\(source)/other") == 0)
            #expect(chmod("\(source)/closed", 0) == 0)
            let client = try client(server)
            let tree = try LocalTree(path: source)
            var local = LocalScan(tree, at: try SourceRoot(source), isSource: true, SyncFilter(Selection()))
            let scan = RemoteScan(client, isSource: false, wantsDigests: true, SyncFilter(Selection()))
            let trees = (source: try local.run().0, target: try await scan.run().tree)
            let known = KnownDigests(tree)
            var options = Self.options
            options.deletes = true
            var plan = BoundUser.run {
                var planner = SyncPlanner(trees.source, trees.target, options) { entry, there in
                    known.hasContent(of: there, there.digest, entry)
                }
                return planner.run()
            }
            plan.leave(unreadable: known.unreadable)
            #expect(plan.files.isEmpty && plan.unreadable.map(\.path.string) == ["closed", "parted"])
            #expect(plan.obstacles.isEmpty)
            #expect(plan.attributes.map(\.path.string) == ["open"])
            let events = EventQueue<SyncEvent>()
            let read = LocalSource(path: source, top: try tree.top(), pool: client.pool)
            let target = RemoteTarget(client: client, root: try SourceRoot(source), keepsOwners: false, plan: plan)
            events.send(.ended(try await SyncRun(read, trees, plan, options) { events.send($0) }.run(target)))
            events.finish(.success(()))
            let synced = await Synced(RequestEvents(events))
            #expect(synced.failures.count == 3, "\(synced.failures)")
            #expect(Files.read(server.directory.path("store/copy/parted")) == [4, 5, 6])
            #expect(synced.failures.contains { $0.hasPrefix("unreadable closed: sourceUnreadable ") })
            #expect(synced.failures.contains { $0.hasPrefix("hard-link other: incomplete ") })
        }
    }

    /// Pulled content is compared with the acknowledged digest; the digest of a file that has changed since does not
    /// count.
    @Test(arguments: [false, true]) func whatArrivesIsComparedWithWhatWasAcknowledged(isFirst: Bool) async throws {
        if !isFirst { try write("mine", [1], in: back) }
        let server = FakeServer(Self.serve, Self.serve, Self.serve, Self.serve, Self.serve, Self.serve)
        var configuration = ClientConfiguration.plain()
        configuration.retryFor = 0
        let client = try TransferClient(server: server.address, configuration: configuration)
        let synced = await Synced(client.sync(to: back))
        server.stop()
        let failures = synced.changes.filter { !$0.isDone }
        #expect(synced.failure == nil && failures.allSatisfy { $0.result == .contentLost })
        // The listing of a first sync contains the digests.
        #expect(failures.map(\.path).sorted() == (isFirst ? ["changed", "rotten"] : ["rotten"]))
        #expect(Files.read("\(back)/good") == [1, 2, 3] && Files.read("\(back)/rotten") == nil)
    }

    /// A file that was only touched or renamed is not sent again, in either direction.
    @Test func whatWasTouchedOrRenamedIsNotSent() async throws {
        for name in ["touched", "renamed"] { try write("d/\(name)", SplitMix64.bytes(seed: 4, 5000)) }
        try write("d/changed", [1])
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            age("\(source)/d/touched")
            try write("d/changed", [2])
            #expect(rename("\(source)/d/renamed", "\(source)/r") == 0)
            for synced in [try await push(server) { $0.deletes = true }, try await pull(server) { $0.deletes = true }] {
                #expect(synced.failures == [])
                #expect(synced.lines.filter { !$0.hasPrefix("attributes") } == ["changed d/changed", "moved r"])
                #expect(synced.lines.contains("attributes d/touched"))
            }
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }
}
