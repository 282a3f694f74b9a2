import Glibc
import Testing
import TransferTestSupport

/// A push of twenty thousand small files, a hundred of which cannot be stored.
@Suite(.ownThreads) struct BigBatchTests {
    private let home: TemporaryDirectory
    private let server: RunningServer

    init() throws {
        home = try TemporaryDirectory(prefersMemory: true)
        let flags = ["--durability", "none", "--max-upload", "1K"]
        server = try RunningServer(flags, in: TemporaryDirectory(prefersMemory: true))
    }

    @Test func everythingElseIsStoredAndTheRestIsNamed() throws {
        let bad = try make()
        let flags = ["--failed-to", home.path("failed"), "--on-conflict", "fail"]
        let first = try server.push([home.path("in"), "--files-from", home.path("list"), "--json"] + flags)
        #expect(first.end == .exited(1))
        let failures = try first.lines.filter { !$0.contains("\"result\":\"committed\"") }.map { try JSONObject($0) }
        let named = failures.map {
            "/" + ($0["source"] ?? "").split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        }
        #expect(named.sorted() == bad.sorted())
        let reasons = "25 pathConflict, 25 uploadTooLarge, 25 sourceUnreadable, 25 sourceSkipped"
        #expect(first.errors.contains("100 failed (\(reasons))\nfailed:\n  "), "\(first.errors.suffix(4000))")
        #expect(first.errors.hasPrefix("19900 stored, ") && first.errors.contains("\n  and 80 more\n"))
        let taken = Set(bad.prefix(25).map { stored($0) })
        #expect(server.visibleFiles.count { !taken.contains($0) } == 19_900)

        try mend(bad)
        let second = try server.push(["--files-from", home.path("failed")] + flags)
        #expect(second.end == .exited(0), "\(second.errors)")
        #expect(second.errors.hasPrefix("100 stored, "), "\(second.errors)")
        #expect(try readFile(home.path("failed")).isEmpty)
        #expect(server.visibleFiles.count == 20_000)
        for path in bad { #expect(try server.stored(stored(path)) == Array("mended".utf8)) }
    }

    /// Makes 19,900 good files and 100 others: names that are taken on the server, content that is too large for it,
    /// files that do not exist, and FIFOs. The last two kinds are in a list, because a FIFO in a directory is not a
    /// failure.
    ///
    /// - Returns: the paths of the other 100 files.
    private func make() throws -> [String] {
        try makeDirectory(home.path("in"))
        try makeDirectory("\(server.directory)/in")
        var (bad, listed): ([String], [String]) = ([], [])
        for folder in 0..<100 {
            let path = home.path("in/\(folder)")
            try makeDirectory(path)
            for number in 0..<199 { try writeFile("\(path)/\(number)", "\(folder) \(number)".utf8) }
            let odd = "\(path)/odd"
            bad.append(odd)
            switch folder / 25 {
            case 0:
                try writeFile(odd, "new".utf8)
                try makeDirectory("\(server.directory)/in/\(folder)")
                try writeFile("\(server.directory)/in/\(folder)/odd", "old".utf8)
            case 1: try writeFile(odd, [UInt8](repeating: 0, count: 1025))
            case 2: listed.append(odd)
            default:
                listed.append(home.path("fifo\(folder)"))
                bad[folder] = home.path("fifo\(folder)")
                mkfifo(bad[folder], 0o600)
            }
        }
        let lines = listed.map { $0.replacing(home.path + "/", with: home.path + "/./") + "\n" }
        try writeFile(home.path("list"), lines.joined().utf8)
        return bad
    }

    private func mend(_ bad: [String]) throws {
        for path in bad {
            unlink(path)
            unlink("\(server.directory)/\(stored(path))")
            try writeFile(path, "mended".utf8)
        }
    }

    /// The path under which a source is stored.
    private func stored(_ path: String) -> String { String(path.dropFirst(home.path.count + 1)) }
}

extension String {
    /// The text with another prefix.
    fileprivate func replacing(_ front: String, with other: String) -> String {
        hasPrefix(front) ? other + dropFirst(front.count) : self
    }
}
