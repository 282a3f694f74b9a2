import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// The files of a server's folder that a pull selects, by the rules of a push.
@Suite struct PullSelectionTests {
    private let here: TemporaryDirectory

    private static let tree = [
        "t/a.jpg", "t/a.txt", "t/b/c.jpg", "t/b/d/e.o", "t/b/d/keep.o", "t/b/x.o", "t/cache/deep/f.jpg", "t/K/IMG.JPG",
    ]

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private func withTree(_ body: (RunningServer) async throws -> Void) async throws {
        try await withServer { server in
            for path in Self.tree { try Files.write(server.directory.path("store/\(path)"), path) }
            try await body(server)
        }
    }

    private static func selection(_ rules: [String], ignoresCase: Bool = false) throws -> Selection {
        var selection = Selection()
        for rule in rules {
            selection.rules.append(try PathRule(rule.hasPrefix("+") ? .include : .exclude, String(rule.dropFirst())))
        }
        selection.ignoresCase = ignoresCase
        return selection
    }

    /// A pull selects the files that a push of the same folder with the same rules would send.
    @Test(arguments: [
        (["+*.jpg"], false), (["+*.jpg"], true), (["-cache/"], false), (["-/b/d/", "+*.o"], false),
        (["+keep.o", "-d/", "-*.txt"], false), (["-*", "+*.jpg"], false), (["+/b/**", "-*"], false),
        (["+*/", "+*.jpg", "-*"], false), (["-CACHE", "-img.*"], true), (["-k/"], true), (["+nothing"], false),
    ])
    func rulesAreThoseOfAPush(_ rules: [String], _ ignoresCase: Bool) async throws {
        let selection = try Self.selection(rules, ignoresCase: ignoresCase)
        try await withTree { server in
            let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.selection = selection }
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result == .committed })
            try await withServer { other in
                let client = try TransferClient(
                    server: other.address, configuration: .plain { $0.selection = selection })
                _ = try await client.push(.path(server.directory.path("store/t")))
                #expect(Files.tree(out) == other.tree && pulled.reports.count == other.tree.count)
            }
        }
    }

    @Test(arguments: [
        (["-b/"], ["t", "t/K", "t/cache", "t/cache/deep"]), (["-*/"], ["t"]),
        (["+/b/d/*", "-/b/*", "-/cache/"], ["t", "t/K", "t/b", "t/b/d"]),
        ([], ["t", "t/K", "t/b", "t/b/d", "t/cache", "t/cache/deep"]),
    ])
    func whatIsNotWantedIsNotListed(_ rules: [String], _ folders: [String]) async throws {
        let selection = try Self.selection(rules)
        try await withTree { server in
            let proxy = CountingProxy(to: server.port)
            let pulled = try await Pulled(["t"], from: proxy.address, to: out) { $0.selection = selection }
            #expect(pulled.failure == nil && proxy.take().listed.sorted() == folders)
            proxy.stop()
        }
    }

    @Test func sizesAndTimes() async throws {
        try await withTree { server in
            let file = server.directory.path("store/t/a.txt")
            try Files.write(file, [UInt8](repeating: 1, count: 5000))
            let past = timeval(tv_sec: 1_234_567_890, tv_usec: 0)
            #expect(utimes(server.directory.path("store/t/b/c.jpg"), [past, past]) == 0)
            func pull(_ name: String, _ change: (inout Selection) -> Void) async throws -> [String] {
                var selection = Selection()
                change(&selection)
                let to = here.path(name)
                _ = try await Pulled(["t", "t/a.txt"], from: server.address, to: to) { $0.selection = selection }
                return Files.tree(to)
            }
            #expect(try await pull("large") { $0.minimumSize = 5000 } == ["a.txt", "t/a.txt"])
            #expect(try await pull("small") { $0.maximumSize = 4999 } == Self.tree.filter { $0 != "t/a.txt" }.sorted())
            #expect(try await pull("new") { $0.modifiedAfter = (1_234_567_890, 0) }.count == Self.tree.count)
            #expect(try await pull("newer") { $0.modifiedAfter = (1_234_567_889, 999_999_999) }.contains("t/b/c.jpg"))
        }
    }

    /// Rules see only the name of a file operand; a file operand that they exclude is not a failure.
    @Test func whatIsNamedGoesByItsName() async throws {
        try await withTree { server in
            let selection = try Self.selection(["-/b/", "-*.txt"])
            let pulled = try await Pulled(["t/b/c.jpg", "t/a.txt", "t/b/d"], from: server.address, to: out) {
                $0.selection = selection
            }
            #expect(Set(pulled.results.keys) == ["t/b/c.jpg", "t/b/d/e.o", "t/b/d/keep.o"])
            #expect(Files.tree(out) == ["c.jpg", "d/e.o", "d/keep.o"])
        }
    }

    /// The digest of a whole folder says nothing about a selection of the files in it.
    @Test func foldersOfWhichNotAllIsWantedAreListed() async throws {
        try await withTree { server in
            let first = try await Pulled(["t"], from: server.address, to: out)
            #expect(first.reports.count == Self.tree.count)
            let selection = try Self.selection(["+*.jpg"])
            let again = try await Pulled(["t"], from: server.address, to: out) { configuration in
                configuration.asksByFolder = true
                configuration.selection = selection
            }
            #expect(again.folders.isEmpty && again.reports.allSatisfy { $0.result == .alreadyStored })
            #expect(Set(again.results.keys) == ["t/a.jpg", "t/b/c.jpg", "t/cache/deep/f.jpg"])
        }
    }

    @Test func foldersComeWithWhatIsWantedInThem() async throws {
        try await withTree { server in
            try Files.makeDirectory(server.directory.path("store/t/nothing"))
            let selection = try Self.selection(["+*.jpg"])
            let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.selection = selection }
            #expect(pulled.failure == nil && !isDirectory("\(out)/t/nothing") && !isDirectory("\(out)/t/b/d"))
        }
    }

    // MARK: Obstacles

    @Test func linksAreNotFollowed() async throws {
        try await withTree { server in
            let selection = try Self.selection(["+*.jpg"])
            try Files.makeDirectory("\(out)/t")
            try Files.makeDirectory(here.path("elsewhere"))
            #expect(symlink(here.path("elsewhere"), "\(out)/t/b") == 0)
            #expect(symlink(here.path("elsewhere/file"), "\(out)/t/a.jpg") == 0)
            let pulled = try await Pulled(["t"], from: server.address, to: out) { configuration in
                configuration.selection = selection
                configuration.conflict = .overwrite
            }
            #expect(pulled.results["t/b/c.jpg"] == .invalidPath && Files.tree(here.path("elsewhere")) == [])
            // The link is replaced, and its target is not changed.
            #expect(pulled.results["t/a.jpg"] == .committed && Files.read("\(out)/t/a.jpg") == Array("t/a.jpg".utf8))
            #expect(pulled.results["t/cache/deep/f.jpg"] == .committed)
        }
    }

    @Test func aFileWhereAFolderIsNeededAndAFolderWhereAFileIs() async throws {
        try await withTree { server in
            let selection = try Self.selection(["+*.jpg"])
            try Files.write("\(out)/t/b", "mine")
            try Files.write("\(out)/t/a.jpg/x", "mine")
            let pulled = try await Pulled(["t"], from: server.address, to: out) { configuration in
                configuration.selection = selection
                configuration.conflict = .overwrite
            }
            #expect(pulled.results["t/b/c.jpg"] == .pathConflict && pulled.results["t/a.jpg"] == .pathConflict)
            #expect(Files.read("\(out)/t/b") == Array("mine".utf8))
            #expect(pulled.results["t/cache/deep/f.jpg"] == .committed)
        }
    }

    @Test func namesThatDifferByCaseAreTwoFiles() async throws {
        let names = ["t/x.JPG", "t/x.jpg", "t/X.jpg"]
        try await withServer { server in
            for name in names { try Files.write(server.directory.path("store/\(name)"), name) }
            let selection = try Self.selection(["+x.jpg"], ignoresCase: true)
            let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.selection = selection }
            #expect(pulled.reports.count == 3)
            for name in names { #expect(Files.read("\(out)/\(name)") == Array(name.utf8)) }
        }
    }
}
