import Glibc
import Testing
import TransferTestSupport

/// Repeats a push of unchanged files.
@Suite(.ownThreads) struct LookupTests {
    private static let count = 60

    /// Too large to be sent before the client's first question to the server.
    private static let size = 15_000

    private static func content(_ number: Int, _ generation: UInt64) -> [UInt8] {
        randomBytes(size, seed: generation << 32 | UInt64(number))
    }

    /// Writes all files with one modification time, so that all generations look the same.
    private static func write(_ sources: TemporaryDirectory, generation: UInt64) throws {
        if generation == 1 { try makeDirectory(sources.path("tree")) }
        for number in 0..<count {
            try writeFile(sources.path("tree/\(number)"), content(number, generation))
            var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
            #expect(utimes(sources.path("tree/\(number)"), &times) == 0)
        }
    }

    /// The files now have other content with the same size and time. A server that received the content would notice.
    @Test(arguments: [[], ["--lanes", "3"], ["--compress", "zlib"], ["--receipts"]])
    func contentIsNotReadAgain(flags: [String]) throws {
        let sources = try TemporaryDirectory()
        try Self.write(sources, generation: 1)
        let receipts = flags == ["--receipts"] ? [sources.path("receipts")] : []
        let command = [sources.path("tree"), "--json"] + flags + receipts
        let first = try RunningServer()
        #expect(try Self.results(first.push(command)) == Array(repeating: "committed", count: Self.count))
        try Self.write(sources, generation: 2)
        #expect(try Self.results(first.push(command)) == Array(repeating: "alreadyStored", count: Self.count))
        let server = try first.restarted()
        #expect(try Self.results(server.push(command)) == Array(repeating: "alreadyStored", count: Self.count))
        for number in 0..<Self.count { #expect(try server.stored("tree/\(number)") == Self.content(number, 1)) }
        #expect(server.visibleFiles.count == Self.count)
        guard let file = receipts.first else { return }
        let verified = try Finished(["receipt", "verify", file])
        #expect(verified.end == .exited(0), "\(verified.errors)")
        let lines = try String(decoding: readFile(file), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 3 * Self.count)
    }

    @Test func whatIsGoneOnTheServerIsSentAgain() throws {
        let sources = try TemporaryDirectory()
        try Self.write(sources, generation: 1)
        let server = try RunningServer()
        #expect(try server.push([sources.path("tree")]).end == .exited(0))
        let (gone, damaged) = (server.directory + "/tree/7", server.directory + "/tree/8")
        #expect(unlink(gone) == 0)
        try writeFile(damaged, Self.content(8, 3))
        let results = try Self.results(server.push([sources.path("tree"), "--json", "--on-conflict", "overwrite"]))
        // The conflict policy is part of an upload's identity, so the server knows none of these uploads. It finds the
        // content of the others under their names.
        #expect(results.filter { $0 == "committed" }.count == 2)
        #expect(try server.stored("tree/7") == Self.content(7, 1) && server.stored("tree/8") == Self.content(8, 1))
        #expect(unlink(gone) == 0)
        try writeFile(damaged, Self.content(8, 4))
        let again = try Self.results(server.push([sources.path("tree"), "--json", "--on-conflict", "overwrite"]))
        #expect(again.filter { $0 == "committed" }.count == 2)
        #expect(again.filter { $0 == "alreadyStored" }.count == Self.count - 2)
        #expect(try server.stored("tree/7") == Self.content(7, 1) && server.stored("tree/8") == Self.content(8, 1))
    }

    private static func results(_ push: Finished) throws -> [String] {
        #expect(push.end == .exited(0), "\(push.errors)")
        return try push.objects().map { "\($0["result"] ?? "")" }
    }
}
