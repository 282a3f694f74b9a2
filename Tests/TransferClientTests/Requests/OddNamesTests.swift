import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// A file that was acknowledged can be listed, read, pulled and removed whatever its name is; a name for which that is
/// impossible is refused at once.
@Suite struct OddNamesTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private static let chosen = [
        "\u{E9}", "e\u{301}", "K", "\u{212A}", "a\u{301}\u{323}", "a\u{323}\u{301}", " ", "  a ", "a.", "a..",
        "...", "..a", "-rf", "~", "*", "?", "[a]", "\\", "a\\b", "C:", "con", "line\nfeed", "\r", "\t",
        "\u{1}", "\u{7F}", "\u{1B}[2J", "\u{301}", "\u{200D}", "\u{FEFF}x", "\u{202E}abc", "%2e%2e", "\"", "'",
        "$(x)", ".part", "x.part", "0123456789abcdef0123456789abcdef.part",
        "0123456789abcdef0123456789abcdef-1.part", ".transferx", ".transfer-part", ".transferignore.",
        "transfer", "lock", "incoming", "catalog.sqlite", String(repeating: "n", count: 255),
        String(repeating: "\u{1F600}", count: 63), "a-1", "a-1.txt",
    ]

    /// Reserved names, refused in every folder.
    private static let own = [".transfer", ".Transfer", ".TRAN\u{17F}FER", ".transfer-parts", ".transfer\u{200C}"]

    private static func random(_ generator: inout SplitMix64) -> String {
        let alphabet = Array("aA.é\u{301} -\\\n\u{1F468}\u{200D}\u{FE0F}\u{130}ßﬁ~".unicodeScalars)
        var name = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            name.append(alphabet[Int.random(in: alphabet.indices, using: &generator)])
        }
        return String(name)
    }

    private func names() -> [String] {
        var generator = SplitMix64(seed: 15)
        var names = Set((Self.chosen + Self.own).map { PathKey($0) })
        for _ in 0..<200 { names.insert(PathKey(Self.random(&generator))) }
        return names.subtracting([".", ".."].map { PathKey($0) }).sorted().map(\.string)
    }

    /// Each name as a file and as a folder, at the top and below.
    private func paths(_ names: [String]) -> [String] {
        names.flatMap { ["files/\($0)", "folders/\($0)/below", "deep/x/\($0)"] }
    }

    private func keys(_ paths: some Sequence<String>) -> Set<PathKey> { Set(paths.map { PathKey($0) }) }

    @Test(arguments: ["", "folder"]) func whatIsAcknowledgedCanBeHadBack(_ folder: String) async throws {
        let paths = paths(names())
        for path in paths { try Files.write(here.path("in/\(path)"), path) }
        try await withServer { server in
            let client = try TransferClient(server: server.address(folder), configuration: .plain())
            var stored: [String] = []
            for try await event in client.push([.path(here.path("in"))]) {
                guard case .finished(let report) = event else { continue }
                if report.result.isSuccess {
                    #expect(report.result == .committed)
                    stored.append(String(Substring((report.storedPath ?? "").utf8.dropFirst(folder.isEmpty ? 0 : 7))))
                } else {
                    #expect(report.result == .sourceSkipped, "\(report.source): \(report.message)")
                }
            }
            // A folder with a reserved name has a single report.
            #expect(paths.count - stored.count == 3 * Self.own.count)
            let listed = await all(client.list("", isRecursive: true)).events.filter { !$0.isDirectory }.map(\.path)
            #expect(listed.count == stored.count && keys(listed) == keys(stored))
            let pulled = try await Pulled(["in"], from: server.address(folder), to: here.path("out"))
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result == .committed })
            #expect(keys(Files.tree(here.path("out"))) == keys(stored))
            for path in stored { #expect(Files.read(here.path("out/\(path)")) == Array(path.utf8.dropFirst(3))) }
            for path in stored.prefix(40) {
                #expect(await all(client.read(path)).events.flatMap(\.self) == Array(path.utf8.dropFirst(3)))
            }
            let removed = await all(client.remove(stored)).events
            #expect(removed.allSatisfy { $0.result == .completed } && removed.count == stored.count)
            #expect(server.tree == [])
        }
    }

    /// An operand with a reserved name is refused before its content is sent.
    @Test(arguments: own) func aNameOfItsOwnIsRefused(_ name: String) async throws {
        try Files.write(here.path("in/\(name)"), "x")
        try await withServer { server in
            let client = try TransferClient(server: server.address("below"), configuration: .plain())
            let reports = try await client.push(.path(here.path("in/\(name)")))
            #expect(reports.map(\.result) == [.invalidPath])
            #expect(server.tree == [])
        }
    }

    /// A server's `.transfer` folder is neither sent to another server nor stored there.
    @Test func aServersDirectoryIsPushedWithoutItsOwn() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/a"), "x")
            try await withServer { other in
                let client = try TransferClient(server: other.address, configuration: .plain())
                let reports = try await client.push(.path(server.directory.path("store")))
                #expect(reports.map(\.result).sorted { $0.rawValue < $1.rawValue } == [.committed, .sourceSkipped])
                #expect(other.tree == ["store/a"])
            }
        }
    }
}
