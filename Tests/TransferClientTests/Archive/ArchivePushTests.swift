import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct ArchivePushTests {
    let sample: ArchiveSample

    init() throws {
        sample = try ArchiveSample()
    }

    @Test func allKindsOfEntriesGoThereAndBack() async throws {
        try sample.make()
        try await withServer { server in
            let facts = TreeFacts(sample.source).lines
            let first = try await sample.push(server) { $0.countsAhead = true }
            #expect(first.failure == nil && first.failures == [], "\(first.failures)")
            #expect(sample.stored(server) == facts)
            #expect(first.counted == [first.reports.count])
            #expect(first.reports.count == 19)
            #expect(first.lines.contains("hard-link copy/z committed"))
            #expect(first.lines.contains("link copy/d/loop committed"))
            #expect(first.reports.allSatisfy { $0.isDurable && $0.isPath })
            let again = try await sample.push(server)
            #expect(again.failure == nil && again.reports.count == 19)
            #expect(again.reports.allSatisfy { $0.result == .alreadyStored && !$0.hasNewAttributes }, "\(again.lines)")
            #expect(sample.stored(server) == facts)
            let pulled = try await sample.pull(server)
            #expect(pulled.failure == nil && pulled.reports.count == 19)
            #expect(pulled.reports.allSatisfy { $0.result == .committed }, "\(pulled.reports)")
            #expect(TreeFacts("\(sample.back)/source").lines == facts)
            let second = try await sample.pull(server)
            #expect(second.reports.allSatisfy { $0.result == .alreadyStored && !$0.hasNewAttributes })
            #expect(TreeFacts("\(sample.back)/source").lines == facts)
            sample.reopen(
                "\(sample.source)/closed", "\(sample.back)/source/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// Entries that were pushed without attributes get them, and their content is not sent again.
    @Test func whatIsThereGetsItsAttributes() async throws {
        try sample.make()
        try await withServer { server in
            let plain = try await Archived([.path(sample.source, name: "copy")], to: server.address) {
                $0.archives = false
            }
            #expect(plain.reports.filter { $0.result == .committed }.count == 9, "\(plain.lines)")
            let archived = try await sample.push(server) { $0.conflict = .overwrite }
            #expect(archived.failure == nil && archived.failures == [], "\(archived.failures)")
            #expect(archived.reports.contains { $0.hasNewAttributes && $0.form == .file })
            #expect(sample.stored(server) == TreeFacts(sample.source).lines)
            // Only attributes change before this push.
            try Files.check(chmod("\(sample.source)/empty", 0o640), "chmod")
            try sample.attribute("\(sample.source)/d", "user.new", [1])
            let again = try await sample.push(server)
            #expect(again.reports.filter(\.hasNewAttributes).map(\.destination) == ["copy/empty", "copy/d"])
            #expect(again.reports.allSatisfy { $0.result == .alreadyStored })
            #expect(sample.stored(server) == TreeFacts(sample.source).lines)
            sample.reopen("\(sample.source)/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// A read-only folder still takes new entries, and is read-only again afterwards.
    @Test func aClosedFolderTakesWhatIsNew() async throws {
        try sample.make()
        try await withServer { server in
            _ = try await sample.push(server)
            let folder = "\(sample.source)/closed"
            try Files.check(chmod(folder, 0o755), "chmod")
            try sample.write("closed/new", [1])
            try Files.check(symlink("new", "\(folder)/link"), "symlink")
            try Files.check(chmod(folder, 0o555), "chmod")
            sample.age(folder)
            let second = try await sample.push(server)
            #expect(second.failures == [])
            #expect(sample.stored(server) == TreeFacts(sample.source).lines)
            _ = try await sample.pull(server)
            sample.reopen(folder)
            try sample.write("closed/third", [3])
            try Files.check(chmod(folder, 0o555), "chmod")
            _ = try await sample.push(server)
            let pulled = try await sample.pull(server)
            #expect(pulled.reports.allSatisfy { $0.result.isSuccess }, "\(pulled.reports)")
            #expect(TreeFacts("\(sample.back)/source").lines == TreeFacts(sample.source).lines)
            sample.reopen(folder, "\(sample.back)/source/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// An operand that names a link is sent as a link. If the operand ends in a slash, the directory that the link
    /// points to is sent.
    @Test func whatIsNamed() async throws {
        try sample.write("d/a", [1])
        try sample.write("b", [2])
        try Files.check(symlink("d", "\(sample.source)/l"), "symlink")
        try Files.check(link("\(sample.source)/b", "\(sample.source)/c"), "link")
        try await withServer { server in
            let uploads = ["l", "b", "c", "d"].map { Upload.path("\(sample.source)/\($0)") }
            let pushed = try await Archived(uploads + [.text("t", name: "t")], to: server.address("in"))
            #expect(
                pushed.lines == [
                    "file in/b committed", "file in/d/a committed", "file in/t committed", "folder in/d committed",
                    "hard-link in/c committed", "link in/l committed",
                ])
            #expect(pushed.reports.first { $0.form == .link }?.isNamed == true)
            let followed = try await Archived([.path("\(sample.source)/l/", name: "m")], to: server.address("in"))
            #expect(followed.lines == ["file in/m/a committed", "folder in/m committed"])
        }
    }

    @Test func rulesHoldAndFoldersOfWhichNothingIsWantedAreNotMade() async throws {
        try sample.write("d/a.txt", [1])
        try sample.write("d/b.jpg", [2])
        try sample.write("e/c.jpg", [3])
        try Files.makeDirectory("\(sample.source)/hollow")
        try Files.check(symlink("a.txt", "\(sample.source)/d/l.txt"), "symlink")
        try Files.check(symlink("b.jpg", "\(sample.source)/d/l.jpg"), "symlink")
        let rule = try PathRule(.include, "*.txt")
        try await withServer { server in
            let pushed = try await sample.push(server) { $0.selection.rules = [rule] }
            #expect(
                pushed.lines == [
                    "file copy/d/a.txt committed", "folder copy committed", "folder copy/d committed",
                    "link copy/d/l.txt committed",
                ])
            #expect(pushed.leftOut.files == 3)
            _ = try await sample.push(server)
            let pulled = try await sample.pull(server) { $0.selection.rules = [rule] }
            #expect(pulled.reports.map(\.source).sorted() == ["copy", "copy/d", "copy/d/a.txt", "copy/d/l.txt"])
            #expect(entries(below: sample.back) == ["source/", "source/d/", "source/d/a.txt", "source/d/l.txt"])
        }
    }

    /// Whatever the connection loses, every entry has exactly one report, and the tree is complete.
    @Test(arguments: [300, 900, 3000, 40_000, 80_000]) func lostConnectionsLoseNothing(_ bytes: Int) async throws {
        try sample.make()
        try await withServer { server in
            let proxy = CuttingProxy(
                to: server.port, cuts: (0..<6).map { CuttingProxy.Cut(up: bytes + 200 * $0) } + [.init(down: 500)])
            let pushed = try await Archived([.path(sample.source, name: "copy")], to: proxy.address) {
                $0.retriesFirstConnection = true
            }
            proxy.stop()
            #expect(pushed.failure == nil && pushed.failures == [], "\(pushed.failures)")
            #expect(Set(pushed.reports.map { PathKey($0.source) }).count == 19 && pushed.reports.count == 19)
            #expect(sample.stored(server) == TreeFacts(sample.source).lines)
            sample.reopen("\(sample.source)/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// A push that ends early still reports every entry, and the same push repeated completes the tree.
    @Test func anEarlyEndLeavesNothingUnsaid() async throws {
        try sample.make()
        try await withServer { server in
            // The limit is above the size of the lookups and lets some of the files through.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(), .init(), .init(), .init(up: 30_000)])
            let cut = try await Archived([.path(sample.source, name: "copy")], to: proxy.address) { $0.retryFor = 0 }
            proxy.stop()
            #expect(cut.failure != nil)
            #expect(Set(cut.reports.map { PathKey($0.source) }).count == 19 && cut.reports.count == 19, "\(cut.lines)")
            let again = try await sample.push(server)
            #expect(again.failures == [] && again.failure == nil)
            #expect(sample.stored(server) == TreeFacts(sample.source).lines)
            sample.reopen("\(sample.source)/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// A folder that the push opened for new entries has its mode back, however the push ends.
    @Test(arguments: [false, true]) func anEarlyEndClosesWhatItHasOpened(isCancelled: Bool) async throws {
        try sample.write("closed/in", [9])
        try Files.check(chmod("\(sample.source)/closed", 0o555), "chmod")
        try await withServer { server in
            _ = try await sample.push(server)
            let stored = server.directory.path("store/copy/closed")
            try Files.check(chmod(stored, 0o511), "chmod")
            try Files.check(chmod("\(sample.source)/closed", 0o755), "chmod")
            try sample.write("closed/long", SplitMix64.bytes(seed: 3, 3 << 20))
            try Files.check(chmod("\(sample.source)/closed", 0o555), "chmod")
            // Lookups need fewer bytes than this. Only the cancellation may end the cancelled push.
            let cut = CuttingProxy.Cut(up: 100_000, stalls: isCancelled)
            let proxy = CuttingProxy(to: server.port, cuts: (0..<40).map { _ in cut })
            let events = try TransferClient(
                server: proxy.address,
                configuration: .plain { configuration in
                    (configuration.archives, configuration.retryFor) = (true, 0)
                    configuration.silenceTimeout = 600
                }
            ).push([.path(sample.source, name: "copy")])
            var failure: TransferFailure?
            do throws(TransferFailure) {
                for try await event in events {
                    if case .connected = event, isCancelled { events.cancel() }
                }
            } catch {
                failure = error
            }
            proxy.stop()
            #expect(failure != nil && (failure?.reason == .cancelled || !isCancelled), "\(String(describing: failure))")
            var status = stat()
            #expect(lstat(stored, &status) == 0 && status.st_mode & 0o777 == 0o511)
            let again = try await sample.push(server)
            #expect(again.failures == [] && sample.stored(server) == TreeFacts(sample.source).lines)
            sample.reopen("\(sample.source)/closed", stored)
        }
    }

    /// The client compares the tree with a listing in memory; it refuses to push if the listing exceeds its bound.
    @Test func aServerThatHasMoreThanIsHeld() async throws {
        try sample.write("d/a", [1])
        try await withServer { server in
            for number in 0..<400 { try Files.write(server.directory.path("store/copy/d/\(number)"), [1]) }
            let pushed = try await sample.push(server) { $0.listMemory = 100_000 }
            #expect(pushed.failure?.reason == .rejected(.incomplete) && pushed.reports.isEmpty)
            #expect(server.stored("copy/d/a") == nil)
            #expect(try await sample.push(server) { $0.listMemory = 1_000_000 }.failures == [])
        }
    }

    @Test func aServerThatCannotIsRefusedBeforeAnythingIsSent() async throws {
        try sample.write("a", [1])
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: .files))
            peer.drain()
        }
        let server = FakeServer(serve, serve)
        let pushed = try await Archived([.path(sample.source)], to: server.address) { $0.retryFor = 0 }
        #expect(pushed.failure?.reason == .unsupported && pushed.reports.isEmpty)
        #expect(pushed.failure?.message.contains("Without --archive the server accepts files") ?? false)
        let pulled = try await Pulled(["t"], from: server.address, to: sample.back) {
            ($0.retryFor, $0.archives) = (0, true)
        }
        #expect(pulled.failure?.reason == .unsupported && pulled.reports.isEmpty)
        server.stop()
        var configuration = ClientConfiguration.plain { $0.archives = true }
        configuration.recipients = ["anna"]
        #expect(throws: TransferFailure.self) {
            try TransferClient(server: try server.address, configuration: configuration)
        }
    }

    /// Entries and attributes that an archive cannot keep are reported.
    @Test func whatCannotBeKept() async throws {
        try sample.write("a", [1])
        try sample.write("d/b", [1])
        try Files.check(mkfifo("\(sample.source)/fifo", 0o600), "mkfifo")
        try await withServer { server in
            let pushed = try await sample.push(server)
            #expect(pushed.reports.filter { !$0.result.isSuccess }.map(\.destination) == ["copy/fifo"])
            #expect(pushed.lines.contains("file copy/d/b committed"))
            // Some file systems, such as ext4, hold at most one block of attributes for a file.
            let places = ["a", "d"].map { "\(sample.source)/\($0)" }
            guard places.allSatisfy(hasMany) else { return }
            let again = try await sample.push(server)
            for place in places {
                #expect(
                    again.failures.contains { $0.hasPrefix("\(place): sourceUnreadable Its extended attributes") },
                    "\(again.failures)")
            }
        }
    }

    /// Gives a file or directory more attributes than an archive keeps; false if the file system refuses them.
    private func hasMany(_ place: String) -> Bool {
        (0..<3).allSatisfy { part in
            (try? sample.attribute(place, "user.\(part)", [CChar](repeating: 1, count: 3000))) != nil
        }
    }

    /// Only an upload has a receipt, so further names of a file are uploaded again instead of linked.
    @Test func everyFileHasItsReceipt() async throws {
        try sample.write("a", [1, 2])
        try Files.check(link("\(sample.source)/a", "\(sample.source)/b"), "link")
        let directory = try TemporaryDirectory()
        let server = try await RunningServer(in: directory)
        let pushed = try await sample.push(server) { $0.wantsReceipts = true }
        await server.stop()
        #expect(pushed.failures == [])
        let files = pushed.reports.filter { $0.form != .folder }
        #expect(files.count == 2 && files.allSatisfy { $0.receipt != nil }, "\(pushed.lines)")
        #expect(TreeFacts(directory.path("store/copy")).lines == TreeFacts(sample.source).lines)
    }
}
