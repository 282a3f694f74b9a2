import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Pulls of files on the server that match a pattern.
@Suite struct PullPatternTests {
    private let here: TemporaryDirectory

    private static let tree = [
        "a.jpg", "B.JPG", "photos/2024/a.jpg", "photos/2024/deep/d.jpg", "photos/2025/a.jpg", "photos/2025/n.txt",
        "photos/top.jpg", "text/a.txt",
    ]

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private func withTree(_ body: (RunningServer) async throws -> Void) async throws {
        try await withServer { server in
            for path in Self.tree { try Files.write(server.directory.path("store/in/\(path)"), path) }
            try await body(server)
        }
    }

    private func pull(
        _ patterns: [String], _ address: ServerAddress, _ change: (inout Selection) throws -> Void = { _ in }
    ) async throws -> Pulled {
        var selection = Selection()
        try change(&selection)
        return try await Pulled(patterns.map { Download($0, isPattern: true) }, from: address, to: out) {
            ($0.selection, $0.asksByFolder) = (selection, true)
        }
    }

    @Test(arguments: [
        (["*.jpg"], ["a.jpg"]), (["photos/*/a.jpg"], ["2024/a.jpg", "2025/a.jpg"]),
        (["photos/**/*.jpg"], ["2024/a.jpg", "2024/deep/d.jpg", "2025/a.jpg", "top.jpg"]),
        (["photos/202?"], ["2024/a.jpg", "2024/deep/d.jpg", "2025/a.jpg", "2025/n.txt"]),
        (["photos/2024/d*/"], ["deep/d.jpg"]), (["a.jpg", "text/*"], ["a.jpg", "a.txt"]),
        (["photos/2024/a\\.jpg"], []),
    ])
    func whatMatchesIsFetched(_ patterns: [String], _ expected: [String]) async throws {
        try await withTree { server in
            let pulled = try await pull(patterns, server.address("in"))
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result.isSuccess } != expected.isEmpty)
            #expect(Files.tree(out) == expected)
        }
    }

    @Test func onlyFoldersThatCanMatchAreListed() async throws {
        try await withTree { server in
            let proxy = CountingProxy(to: server.port)
            let address = try #require(ServerAddress("\(try proxy.address.server)/in"))
            #expect(try await pull(["photos/*/a.jpg"], address).reports.count == 2)
            #expect(proxy.take().listed.sorted() == ["in/photos", "in/photos/2024", "in/photos/2025"])
            proxy.stop()
        }
    }

    @Test func whateverTheCaseIs() async throws {
        try await withTree { server in
            let pulled = try await pull(["*.jpg", "PHOTOS/2024/*.JPG", "Text/A.TXT"], server.address("in")) {
                $0.ignoresCase = true
            }
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result.isSuccess })
            // Two matches are named a.jpg, and the second to arrive gets another name.
            #expect(Files.tree(out) == ["B.JPG", "a-1.jpg", "a.jpg", "a.txt"])
        }
    }

    /// An existing path wins over the files that match it as a pattern.
    @Test func aNameIsNoPattern() async throws {
        try await withTree { server in
            try Files.write(server.directory.path("store/in/[a]*.jpg"), "odd")
            let pulled = try await pull(["[a]*.jpg"], server.address("in"))
            #expect(pulled.results == ["[a]*.jpg": .committed] && Files.tree(out) == ["[a]*.jpg"])
        }
    }

    /// Only downloads that are marked as patterns are patterns; paths from a list are not.
    @Test func onlyWhatMayBeOneIsAPattern() async throws {
        try await withTree { server in
            let pulled = try await Pulled(["*.jpg"], from: server.address("in"), to: out)
            #expect(pulled.results == ["*.jpg": .notFound])
        }
    }

    @Test func whatMatchesNothingIsAFailure() async throws {
        try await withTree { server in
            let patterns = ["*.zip", "photos/*/x", "gone/*", "photos/top.jpg/*", "../*"]
            let pulled = try await pull(patterns, server.address("in"))
            #expect(pulled.reports.count == patterns.count && pulled.reports.allSatisfy { $0.isPattern })
            #expect(Set(pulled.reports.map(\.source)) == Set(patterns))
            #expect(pulled.reports.first { $0.source == "*.zip" }?.message == "Nothing on the server matches it.")
            #expect(pulled.results["gone/*"] == .notFound && pulled.results["../*"] == .invalidPath)
        }
    }

    /// A pattern whose matches are all excluded by the rules is not a failure.
    @Test func rulesHoldFromWhereThePatternBegins() async throws {
        try await withTree { server in
            let pulled = try await pull(["photos/**/*.jpg"], server.address("in")) {
                $0.rules = [try PathRule(.exclude, "/2024/")]
            }
            #expect(Set(pulled.results.keys) == ["photos/2025/a.jpg", "photos/top.jpg"])
            let none = try await pull(["photos/2024/*"], server.address("in")) {
                $0.rules = [try PathRule(.exclude, "*")]
            }
            #expect(none.reports.isEmpty && none.failure == nil)
            let small = try await pull(["*.jpg"], server.address("in")) { $0.minimumSize = 1000 }
            #expect(small.reports.isEmpty && small.failure == nil)
            let matched = try await pull(["photos/20*"], server.address("in")) {
                $0.rules = [try PathRule(.include, "/2025/*.txt")]
            }
            #expect(Set(matched.results.keys) == ["photos/2025/n.txt"])
        }
    }

    @Test func whatHasAnotherNameHere() async throws {
        try await withTree { server in
            let downloads = [
                Download("photos/top.jpg", name: "x/cover.jpg"), Download("/photos/./2024/", name: "year"),
                Download("text/a.txt", name: "../up"),
            ]
            let pulled = try await Pulled(downloads, from: server.address("in"), to: out)
            #expect(Files.tree(out) == ["x/cover.jpg", "year/a.jpg", "year/deep/d.jpg"])
            #expect(pulled.results["text/a.txt"] == .invalidPath)
        }
    }

    @Test(arguments: [1, 4]) func lostConnectionsChangeNothing(lanes: Int) async throws {
        try await withServer { server in
            for number in 0..<300 { try Files.write(server.directory.path("store/d\(number % 7)/f\(number).x"), "x") }
            let proxy = CuttingProxy(to: server.port, cuts: (1..<6).map { .init(down: 700 * $0) })
            let pulled = try await Pulled([Download("**/*.x", isPattern: true)], from: proxy.address, to: out) {
                $0.lanes = .fixed(lanes)
            }
            proxy.stop()
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result.isSuccess })
            #expect(Files.tree(out).count == 300)
        }
    }
}
