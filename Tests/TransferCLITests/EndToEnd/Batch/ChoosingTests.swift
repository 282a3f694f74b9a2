import Testing
import TransferTestSupport

/// Which files of a directory a push sends, and which a dry run announces.
@Suite(.ownThreads) struct ChoosingTests {
    private let files: BatchFiles

    init() throws {
        files = try BatchFiles(["in/a.jpg", "in/b.txt", "in/cache/c.jpg", "in/cache/keep.txt", "in/d/e.o"])
    }

    @Test(arguments: [
        (["--exclude", "cache/"], ["a.jpg", "b.txt", "d/e.o"]),
        (["--include", "*.jpg"], ["a.jpg", "cache/c.jpg"]),
        (["--include", "*.JPG"], []), (["--include", "*.JPG", "--ignore-case"], ["a.jpg", "cache/c.jpg"]),
        (["--include", "keep.*", "--exclude", "cache", "--exclude=*.o"], ["a.jpg", "b.txt", "cache/keep.txt"]),
        (["--exclude", "*.jpg", "--include", "a.jpg"], ["b.txt", "cache/keep.txt", "d/e.o"]),
        (["--min-size", "13"], ["cache/c.jpg", "cache/keep.txt"].map { $0 }),
        (["--max-size", "8"], ["a.jpg", "b.txt", "d/e.o"]),
        (["--newer", "1h", "--exclude", "cache"], ["a.jpg", "b.txt", "d/e.o"]), (["--newer", "in/b.txt"], []),
    ])
    func flags(_ flags: [String], _ expected: [String]) throws {
        let server = try RunningServer()
        // All files have the same time.
        let time = try #require(files.alignTimes())
        let push = try server.push(["in"] + flags, files.here)
        #expect(push.end == .exited(0), "\(push.errors) \(time)")
        #expect(server.visibleFiles == expected.map { "in/\($0)" })
    }

    @Test func ignoreFiles() throws {
        let server = try RunningServer()
        try writeFile(files.home.path("in/.transferignore"), "*.o\ncache/*\n!keep.txt\n.transferignore\n".utf8)
        #expect(try files.push(server, "in").end == .exited(0))
        #expect(server.visibleFiles == ["in/a.jpg", "in/b.txt", "in/cache/keep.txt"])
        let all = try RunningServer()
        #expect(try files.push(all, "in", "--no-ignore").end == .exited(0))
        #expect(all.visibleFiles.count == 6)
    }

    /// A dry run needs no server and looks for none.
    @Test func aDryRunConnectsToNothing() throws {
        let run = try Finished(
            [
                "push", "in", "/nonexistent", "--text", "x", "--dry-run", "--exclude", "cache", "--to",
                "nowhere.invalid/f",
            ],
            files.here)
        #expect(run.end == .exited(1))
        #expect(
            run.lines == [
                "would send  in/a.jpg -> f/in/a.jpg  8 B", "would send  in/b.txt -> f/in/b.txt  8 B",
                "would send  in/d/e.o -> f/in/d/e.o  8 B", "would send  text.txt -> f/text.txt  1 B",
            ])
        #expect(
            run.errors == """
                sourceUnreadable  /nonexistent: There is no such file or directory.
                dry run: 4 would be sent, 25 B, 1 cannot be sent

                """)
    }

    @Test func aDryRunForPrograms() throws {
        let run = try Finished(["push", "in/a.jpg", "-n", "--json", "--to", "nowhere.invalid/f"], files.here)
        #expect(run.end == .exited(0))
        let object = try run.object()
        #expect(object.keys == ["schema", "source", "destination", "size", "form"])
        #expect(object["schema"] == "transfer.plan/1" && object["destination"] == "f/a.jpg" && object["size"] == "8")
    }
}
