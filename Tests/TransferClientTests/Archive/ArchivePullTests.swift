import CLinux
import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct ArchivePullTests {
    private let sample: ArchiveSample

    init() throws {
        sample = try ArchiveSample()
    }

    @Test func whatIsHereGetsItsAttributes() async throws {
        try sample.make()
        try await withServer { server in
            _ = try await sample.push(server)
            let plain = try await sample.pull(server) { $0.archives = false }
            #expect(plain.failure == nil)
            let archived = try await sample.pull(server) { $0.conflict = .overwrite }
            #expect(archived.reports.allSatisfy { $0.result.isSuccess }, "\(archived.reports)")
            #expect(archived.reports.contains { $0.hasNewAttributes && $0.form == .file })
            #expect(TreeFacts("\(sample.back)/source").lines == TreeFacts(sample.source).lines)
            sample.reopen(
                "\(sample.source)/closed", "\(sample.back)/source/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// The directory that is the target of the pull keeps its attributes.
    @Test func everythingOfAServer() async throws {
        try sample.write("d/a", [1])
        try Files.check(symlink("d", "\(sample.source)/l"), "symlink")
        try await withServer { server in
            _ = try await sample.push(server)
            let pulled = try await Pulled(["/"], from: server.address, to: sample.back) { $0.archives = true }
            #expect(
                pulled.results == [
                    "copy": .committed, "copy/d": .committed, "copy/d/a": .committed, "copy/l": .committed,
                ])
            let named = try await Pulled(["copy/l"], from: server.address, to: sample.here.path("one")) {
                $0.archives = true
            }
            #expect(named.reports.map(\.form) == [.link] && entries(below: sample.here.path("one")) == ["l"])
        }
    }

    /// Folders on the way of a pattern are not made if the pattern matches nothing in them.
    @Test func patternsFindLinksAndNoEmptyFolders() async throws {
        try sample.write("d/a.txt", [1])
        try sample.write("e/b.jpg", [2])
        try Files.check(symlink("a.txt", "\(sample.source)/d/l.txt"), "symlink")
        try await withServer { server in
            _ = try await sample.push(server)
            let pulled = try await Pulled(
                [Download("copy/**/*.txt", isPattern: true)], from: server.address, to: sample.back
            ) { $0.archives = true }
            #expect(entries(below: sample.back) == ["d/", "d/a.txt", "d/l.txt"], "\(entries(below: sample.back))")
            #expect(pulled.reports.allSatisfy { $0.result == .committed })
        }
    }

    @Test func aPreviewTellsAllAndChangesNothing() async throws {
        try sample.make()
        try await withServer { server in
            _ = try await sample.push(server)
            let download = Download("copy", name: "source")
            let foreseen = try await Pulled([download], from: server.address, to: sample.back, isPreview: true) {
                $0.archives = true
            }
            #expect(foreseen.planned.count == 19 && entries(below: sample.back).isEmpty)
            #expect(foreseen.planned.filter { $0.form == .hardLink }.count == 2)
            _ = try await sample.pull(server)
            let again = try await Pulled([download], from: server.address, to: sample.back, isPreview: true) {
                $0.archives = true
            }
            #expect(again.planned.isEmpty, "\(again.planned)")
            sample.reopen(
                "\(sample.source)/closed", "\(sample.back)/source/closed", server.directory.path("store/copy/closed"))
        }
    }

    @Test(arguments: [2000, 20_000, 90_000]) func lostConnectionsLoseNothing(_ bytes: Int) async throws {
        try sample.make()
        try await withServer { server in
            _ = try await sample.push(server)
            let proxy = CuttingProxy(to: server.port, cuts: (0..<4).map { .init(down: bytes + 3000 * $0) })
            let pulled = try await Pulled([Download("copy", name: "source")], from: proxy.address, to: sample.back) {
                ($0.archives, $0.retriesFirstConnection) = (true, true)
            }
            proxy.stop()
            #expect(pulled.failure == nil && pulled.reports.count == 19, "\(pulled.reports)")
            #expect(TreeFacts("\(sample.back)/source").lines == TreeFacts(sample.source).lines)
            sample.reopen(
                "\(sample.source)/closed", "\(sample.back)/source/closed", server.directory.path("store/copy/closed"))
        }
    }

    /// A pull that ends early reports the listed entries that it has not stored, and the next pull completes the tree.
    @Test func anEarlyEndAndAnotherPull() async throws {
        try sample.make()
        try await withServer { server in
            _ = try await sample.push(server)
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 6000)])
            let cut = try await Pulled([Download("copy", name: "source")], from: proxy.address, to: sample.back) {
                ($0.archives, $0.retryFor) = (true, 0)
            }
            proxy.stop()
            #expect(cut.failure != nil)
            let again = try await sample.pull(server)
            #expect(again.failure == nil && again.reports.allSatisfy { $0.result.isSuccess })
            #expect(TreeFacts("\(sample.back)/source").lines == TreeFacts(sample.source).lines)
            sample.reopen(
                "\(sample.source)/closed", "\(sample.back)/source/closed", server.directory.path("store/copy/closed"))
        }
    }
}

/// A server that lies about links cannot store anything outside of the target directory.
@Suite struct HostileArchiveTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
        try Files.makeDirectory(here.path("outside"))
    }

    private var out: String { here.path("out") }

    private static func entry(
        _ name: String, _ form: ListedEntry.Form = .file, names: UInt32 = 1, target: String = ""
    ) -> ListedEntry {
        ListedEntry(
            form, name: name, size: form == .file ? 3 : 0, modified: .init(seconds: 1, nanoseconds: 0),
            permissions: 0o6777, version: form == .file ? FileVersion(high: 1, low: 2) : .none,
            extras: .init(names: names, attributes: ExtraAttributes(), target: Array(target.utf8)))
    }

    /// - Parameter folders: the entries of each listed folder, by path.
    private func pull(
        _ folders: [String: [ListedEntry]], _ conflict: ConflictPolicy = .overwrite
    ) async throws -> Pulled {
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: [.files, .trees]))
            while let arrival = peer.next() {
                switch arrival {
                case .message(.list(let list)) where list.isAboutItself:
                    peer.send(
                        .entries(Entries(id: list.id, [Self.entry("t", .directory)])),
                        .outcome(Ending(id: list.id, code: .completed, count: 1)))
                case .message(.list(let list)):
                    let found = folders[list.path] ?? []
                    peer.send(
                        .entries(Entries(id: list.id, found)),
                        .outcome(Ending(id: list.id, code: .completed, count: UInt64(found.count))))
                case .message(.fetch(let fetch)):
                    let digest = [UInt8]([1, 2, 3]).withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
                    var frame: [UInt8] = []
                    FrameHeader(.data, encoding: .stored, bodyLength: 3).encode(into: &frame)
                    peer.send(
                        .file(
                            FetchedFile(
                                id: fetch.id, permissions: 0o7777, size: 3, modified: .init(seconds: 1, nanoseconds: 0),
                                version: FileVersion(high: 1, low: 2))))
                    peer.wire.send(frame + [1, 2, 3])
                    peer.send(.end(End(size: 3, digest: Digest(.xxh128, digest))))
                default: continue
                }
            }
        }
        let server = FakeServer(serve, serve, serve, serve, serve, serve)
        let pulled = try await Pulled(["t"], from: server.address, to: out) {
            ($0.retryFor, $0.archives, $0.conflict) = (0, true, conflict)
        }
        server.stop()
        return pulled
    }

    private var outside: [String] { entries(below: here.path("outside")) }

    /// One name is listed as a link and as a folder with a file, in either order; the later rounds find the link or
    /// folder in the target.
    @Test(arguments: [ConflictPolicy.keepBoth, .overwrite, .skip, .fail], [true, false])
    func aLinkAndAFolderOfOneName(_ conflict: ConflictPolicy, _ isLinkFirst: Bool) async throws {
        let link = Self.entry("x", .symbolicLink, target: here.path("outside"))
        let folder = Self.entry("x", .directory)
        let listed = isLinkFirst ? [link, folder] : [folder, link]
        for _ in 0..<3 {
            _ = try await pull(
                ["t": listed, "t/x": [Self.entry("y"), Self.entry("z", .symbolicLink, target: "/")]], conflict)
            #expect(outside.isEmpty)
        }
    }

    /// The first pull makes a link; the second one pulls a folder of that name.
    @Test(arguments: [ConflictPolicy.keepBoth, .overwrite, .skip, .fail])
    func aFolderTakesThePlaceOfALink(_ conflict: ConflictPolicy) async throws {
        let link = Self.entry("x", .symbolicLink, target: here.path("outside"))
        #expect(try await pull(["t": [link]], conflict).failure == nil)
        #expect(entries(below: "\(out)/t").first?.hasPrefix("x") ?? false)
        let second = try await pull(["t": [Self.entry("x", .directory)], "t/x": [Self.entry("y")]], conflict)
        #expect(outside.isEmpty)
        #expect((second.results["t/x/y"]?.isSuccess ?? false) == (conflict == .overwrite))
    }

    /// Entries whose names lead out of the folder are not stored. A link with an empty target or with a zero byte makes
    /// the whole answer invalid.
    @Test func oddNamesAndTargets() async throws {
        let pulled = try await pull([
            "t": [
                Self.entry("..", .symbolicLink, target: "x"), Self.entry("a/b", .symbolicLink, target: "x"),
                Self.entry(".transfer-parts", .symbolicLink, target: here.path("outside")),
                Self.entry(".transfer", .directory), Self.entry("good", .symbolicLink, target: "../.."),
            ]
        ])
        #expect(pulled.results["t/good"] == .committed)
        for target in ["", "a\0b"] {
            let link = Self.entry("odd", .symbolicLink, target: target)
            let answer = try await pull(["t": [Self.entry("other", .symbolicLink, target: "x"), link]])
            #expect(answer.results["t/other"] == nil && answer.results["t/odd"] == nil)
        }
        #expect(outside.isEmpty && names(in: "\(out)/t") == ["good"])
        #expect(names(in: out) == ["t"])
    }

    /// Files that are listed as names of one file are not stored through a link in the target.
    @Test func namesOfOneFileStayInside() async throws {
        try Files.makeDirectory(out)
        try Files.check(symlink(here.path("outside"), "\(out)/t"), "symlink")
        let pulled = try await pull(["t": [Self.entry("a", names: 2), Self.entry("b", names: 2)]], .keepBoth)
        #expect(outside.isEmpty)
        #expect(pulled.reports.contains { !$0.result.isSuccess })
    }

    /// Pulled files and folders have neither set-ID bits nor the sticky bit.
    @Test func noProgramOfSomebodyElse() async throws {
        _ = try await pull(["t": [Self.entry("a"), Self.entry("d", .directory)]])
        var status = stat()
        for path in ["a", "d", ""] {
            #expect(lstat("\(out)/t/\(path)", &status) == 0 && status.st_mode & 0o7000 == 0)
        }
    }
}
