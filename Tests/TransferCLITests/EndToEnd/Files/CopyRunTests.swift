import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// Copies on a server, with the real program on both sides.
@Suite(.ownThreads) struct CopyRunTests {
    private func place(_ server: RunningServer, _ path: String) -> String { "\(server.directory)/\(path)" }

    private func status(of path: String) throws -> stat {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Program.Failure(description: "\(path): errno \(errno)") }
        return status
    }

    @Test func aFolderIsCopiedAsItIs() throws {
        let server = try RunningServer()
        try makeDirectory(place(server, "d"))
        try makeDirectory(place(server, "d/private"))
        try writeFile(place(server, "d/a"), [1])
        #expect(link(place(server, "d/a"), place(server, "d/private/name")) == 0)
        #expect(symlink("/nowhere", place(server, "d/link")) == 0)
        #expect(chmod(place(server, "d/private"), 0o700) == 0)
        let times = [timespec(tv_sec: 5, tv_nsec: 6), timespec(tv_sec: 1_234_567_890, tv_nsec: 123)]
        for path in ["d/link", "d/private", "d"] {
            #expect(utimensat(AT_FDCWD, place(server, path), times, AT_SYMLINK_NOFOLLOW) == 0)
        }
        let copied = try server.run(["cp", "-r", "d", "e"])
        #expect(copied.end == .exited(0) && copied.errors == "1 copied, 2 folders, 1 link, 1 hard link\n")
        #expect(copied.lines.contains("made  e/link") && copied.lines.contains("made  e/private"))
        #expect(copied.lines.count == 5, "\(copied.output)")
        for path in ["", "/private", "/link", "/a", "/private/name"] {
            let (before, after) = (try status(of: place(server, "d\(path)")), try status(of: place(server, "e\(path)")))
            #expect(before.st_mode == after.st_mode && before.st_nlink == after.st_nlink, "\(path)")
            #expect(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
        }
        #expect(try server.run(["cp", "-rq", "d", "f"]).errors == "")
    }

    @Test func programsAreToldWhatItIs() throws {
        let server = try RunningServer()
        try makeDirectory(place(server, "d"))
        try writeFile(place(server, "d/a"), [1])
        #expect(symlink("a", place(server, "d/link")) == 0)
        let copied = try server.run(["cp", "-r", "--json", "d", "missing", "e/"])
        #expect(copied.end == .exited(1), "\(copied.errors)")
        let schema = try DocumentedSchema()
        for line in copied.lines { #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["change"]) }
        let told = try copied.objects().map { "\($0["form"] ?? "-") \($0["path"] ?? "-") \($0["result"] ?? "-")" }
        #expect(
            told.sorted() == [
                "file e/d/a completed", "folder e/d completed", "link e/d/link completed", "null missing notFound",
            ], "\(told)")
    }
}
