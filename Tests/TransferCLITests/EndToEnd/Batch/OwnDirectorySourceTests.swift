import Glibc
import Testing
import TransferTestSupport

/// `--delete-source` of files that lie in the server's own directory, under any path, never removes the only copy.
@Suite(.ownThreads) struct OwnDirectorySourceTests {
    private let server: RunningServer

    init() throws {
        server = try RunningServer()
        try makeDirectory(path("sub"))
        try writeFile(path("a"), "top".utf8)
        try writeFile(path("sub/b"), "below".utf8)
    }

    private func path(_ name: String) -> String { "\(server.directory)/\(name)" }

    private func text(_ name: String) throws -> String { String(decoding: try server.stored(name), as: UTF8.self) }

    private func expectKept(_ push: Finished, _ source: String) {
        #expect(push.end == .exited(1))
        let sentence = "not removed  \(source): It is in the server's directory"
        #expect(push.errors.contains(sentence), "\(push.errors)")
        #expect(files(below: server.directory).allSatisfy { !$0.contains("witness") })
    }

    @Test(arguments: ["keep-both", "overwrite", "fail"]) func aFileOfTheServerStays(policy: String) throws {
        for _ in 0..<2 {
            let push = try server.push([path("a"), "--delete-source", "--on-conflict", policy])
            if policy == "overwrite", !push.output.hasPrefix("alreadyStored") {
                // The upload has replaced the source, so the source is no longer the file that was sent.
                #expect(push.end == .exited(1) && push.errors.contains("not removed  "), "\(push.errors)")
            } else {
                expectKept(push, path("a"))
            }
            #expect(try text("a") == "top")
        }
        #expect(server.visibleFiles == ["a", "sub/b"])
    }

    @Test func throughALinkToItsDirectory() throws {
        let link = server.home.path("link")
        #expect(symlink(server.directory, link) == 0)
        expectKept(try server.push(["\(link)/a", "--delete-source"]), "\(link)/a")
        expectKept(try server.push(["\(link)/sub/b", "--delete-source"], to: "/sub"), "\(link)/sub/b")
        #expect(try text("a") == "top" && text("sub/b") == "below")
    }

    @Test func aWholeDirectory() throws {
        expectKept(try server.push([path("sub"), "--delete-source"]), path("sub/b"))
        #expect(try text("sub/b") == "below")
    }

    /// An earlier acknowledgement does not prove where the path leads now.
    @Test func whereADirectoryWasReplacedByALink() throws {
        let source = server.home.path("out")
        try makeDirectory(source)
        try writeFile("\(source)/c", "outside".utf8)
        #expect(try server.push(["\(source)/c"]).end == .exited(0))
        #expect(rename(source, source + ".old") == 0 && symlink(server.directory, source) == 0)
        expectKept(try server.push(["\(source)/c", "--delete-source"]), "\(source)/c")
        #expect(try text("c") == "outside")
    }

    /// A file of the server's directory that is stored under another path then exists twice.
    @Test func whatIsStoredElsewhereGoes() throws {
        let push = try server.push([path("sub/b"), "--delete-source"])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.visibleFiles == ["a", "b"])
        #expect(try text("b") == "below")
    }

    /// Removing another hard link of the file leaves the stored name.
    @Test func aHardLinkGoes() throws {
        let other = server.home.path("a")
        #expect(link(path("a"), other) == 0)
        let push = try server.push([other, "--delete-source"])
        #expect(push.end == .exited(0) && push.output.hasPrefix("alreadyStored"), "\(push.errors)")
        #expect(!exists(other))
        #expect(try text("a") == "top")
    }

    private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
