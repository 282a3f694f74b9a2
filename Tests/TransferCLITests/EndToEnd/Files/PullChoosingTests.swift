import Glibc
import Testing
import TransferTestSupport

/// Which files a pull takes, by lists and by patterns, and where it stores them.
@Suite(.ownThreads) struct PullChoosingTests {
    private let server: RunningServer
    private let here: TemporaryDirectory

    private static let tree = [
        "in/a.jpg", "in/b.txt", "in/cache/c.jpg", "in/cache/keep.txt", "in/d/IMG.JPG", "in/odd\nname", "top.jpg",
    ]

    init() throws {
        server = try RunningServer()
        here = try TemporaryDirectory()
        let files = try BatchFiles(Self.tree)
        #expect(try files.push(server, "in", "top.jpg").end == .exited(0))
    }

    private func pull(_ arguments: String..., input: [UInt8]? = nil) throws -> Finished {
        var surroundings = Surroundings(directory: here.path)
        if input != nil { surroundings.input = .pipe }
        let pull = try Program(
            ["pull"] + arguments + ["--plaintext", "--from", server.address], surroundings)
        if let input { try pull.write(input) }
        pull.closeInput()
        return try Finished(pull)
    }

    private func found(_ directory: String) -> [String] { files(below: here.path(directory)) }

    // MARK: Rules and patterns

    @Test(arguments: [
        (["--exclude", "cache/"], ["a.jpg", "b.txt", "d/IMG.JPG", "odd\nname"]),
        (["--include", "*.jpg"], ["a.jpg", "cache/c.jpg"]),
        (["--include", "*.jpg", "--ignore-case"], ["a.jpg", "cache/c.jpg", "d/IMG.JPG"]),
        (
            ["--include", "keep.*", "--exclude", "cache", "--exclude=IMG*"],
            ["a.jpg", "b.txt", "cache/keep.txt", "odd\nname"]
        ),
        (["--min-size", "14"], ["cache/c.jpg", "cache/keep.txt"]), (["--max-size", "8"], ["a.jpg", "b.txt"]),
        (["--newer", "2020-01-01", "--max-size", "8"], ["a.jpg", "b.txt"]), (["--newer", "2999-01-01"], []),
    ])
    func flags(_ flags: [String], _ expected: [String]) throws {
        let pull = try Finished(
            ["pull", "in", "-o", here.path("out"), "--plaintext", "--from", server.address] + flags)
        #expect(pull.end == .exited(0), "\(pull.errors)")
        #expect(found("out") == expected.map { "in/\($0)" })
    }

    @Test func patterns() throws {
        let one = try pull("*.jpg", "-o", "one")
        #expect(one.end == .exited(0) && found("one") == ["top.jpg"], "\(one.errors)")
        let all = try pull("**/*.jpg", "--ignore-case", "-o", "all")
        #expect(all.end == .exited(0), "\(all.errors)")
        #expect(found("all") == ["in/a.jpg", "in/cache/c.jpg", "in/d/IMG.JPG", "top.jpg"])
        #expect(all.output.contains("committed  in/a.jpg  "))
        let below = try pull("in/*/*.jpg", "-o", "below")
        #expect(found("below") == ["cache/c.jpg"] && below.output.contains("in/cache/c.jpg -> cache/c.jpg  "))
        let none = try pull("*.zip", "top.jpg", "-o", "none")
        #expect(none.end == .exited(1) && found("none") == ["top.jpg"])
        #expect(none.errors.contains("notFound  *.zip: Nothing on the server matches it.\n"), "\(none.errors)")
    }

    /// A pattern without matches creates no directory. An existing directory stays.
    @Test func aPatternThatFindsNothingLeavesNothing() throws {
        try makeDirectory(here.path("old"))
        for (name, isThere) in [("new", false), ("old", true)] {
            #expect(try pull("*.zip", "-o", name).end == .exited(1))
            #expect((access(here.path(name), F_OK) == 0) == isThere, "\(name)")
        }
    }

    // MARK: Lists

    @Test func listedFilesKeepTheirPaths() throws {
        let list = "in/a.jpg\n./in/./cache/c.jpg\n\nin/./d\n*.jpg\n"
        let pull = try pull("--files-from", "-", "-o", "out", input: Array(list.utf8))
        #expect(pull.end == .exited(1) && pull.errors.contains("notFound  *.jpg: "), "\(pull.errors)")
        #expect(found("out") == ["cache/c.jpg", "d/IMG.JPG", "in/a.jpg"])
    }

    @Test(arguments: [false, true]) func whatFailedCanBePulledAgain(_ isNullSeparated: Bool) throws {
        let flags = isNullSeparated ? ["-0"] : []
        let odd = isNullSeparated ? ["in/odd\nname"] : []
        try makeDirectory(here.path("out"))
        // A file stands where a folder is needed.
        try writeFile(here.path("out/cache"), [])
        let arguments = ["pull", "top.jpg", "gone", "in/cache", "in/a.jpg", "*.zip"] + odd
        let end = [
            "-o", "out", "--on-conflict", "fail", "--failed-to", "failed", "--plaintext", "--from", server.address,
        ]
        let first = try Finished(arguments + end + flags, Surroundings(directory: here.path))
        #expect(
            first.end == .exited(1) && first.errors.contains("failures are listed in 'failed'\n"), "\(first.errors)")
        #expect(first.errors.contains("'*.zip' is a pattern and cannot be listed; give it again\n"))
        let separator = UInt8(ascii: isNullSeparated ? "\0" : "\n")
        let failed = try readFile(here.path("failed")).split(separator: separator).map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(failed.sorted() == ["gone", "in/./cache/c.jpg", "in/./cache/keep.txt"])
        // After the causes are fixed, pulling the list completes the batch.
        #expect(unlink(here.path("out/cache")) == 0)
        try writeFile("\(server.directory)/gone", [1])
        let again = try Finished(["pull", "--files-from", "failed"] + end + flags, Surroundings(directory: here.path))
        #expect(again.end == .exited(0), "\(again.errors)")
        #expect(try readFile(here.path("failed")).isEmpty)
        #expect(
            Set(found("out"))
                == Set(
                    ["a.jpg", "cache/c.jpg", "cache/keep.txt", "gone", "top.jpg"] + (odd.isEmpty ? [] : ["odd\nname"])))
    }

    // MARK: Manifests

    @Test func manifestsGiveOtherNames() throws {
        let manifest = """
            {"path": "in/a.jpg", "name": "cover.jpg", "folder": "album"}

            {"path": "/in/d/", "name": "pictures"}
            {"path": "in/cache/keep.txt", "folder": "kept"}
            {"path": "top.jpg"}
            {"path": "*.jpg", "name": "up"}
            {"path": "in/b.txt", "name": "../out"}
            """
        let pull = try pull("--manifest", "-", "-o", "out", "--failed-to", "failed", input: Array(manifest.utf8))
        #expect(pull.end == .exited(1) && pull.errors.contains("notFound  *.jpg: "), "\(pull.errors)")
        #expect(pull.errors.contains("invalidPath  in/b.txt"), "\(pull.errors)")
        #expect(found("out") == ["album/cover.jpg", "kept/keep.txt", "pictures/IMG.JPG", "top.jpg"])
        let failed = String(decoding: try readFile(here.path("failed")), as: UTF8.self)
        #expect(
            Set(failed.split(separator: "\n")) == [
                #"{"path":"*.jpg","name":"up"}"#, #"{"path":"in/b.txt","name":"../out"}"#,
            ])
    }

    /// Failed files are pulled again under the names that the manifest gives them, until all succeed.
    @Test func whatFailedOfAManifestCanBePulledAgain() throws {
        try writeFile(here.path("list"), #"{"path":"gone","name":"a/b"}\#n{"path":"in/a.jpg","name":"c"}\#n"#.utf8)
        let arguments = ["--manifest", "list", "--failed-to", "list", "-o", "out"]
        let unreachable = ["pull"] + arguments + ["--from", "127.0.0.1:1", "--plaintext"]
        #expect(try Finished(unreachable, Surroundings(directory: here.path)).end == .exited(3))
        #expect(try pull(arguments[0], "list", arguments[2], "list", arguments[4], "out").end == .exited(1))
        #expect(found("out") == ["c"])
        #expect(try readFile(here.path("list")) == Array(#"{"path":"gone","name":"a/b"}\#n"#.utf8))
        try writeFile("\(server.directory)/gone", [1])
        #expect(try pull(arguments[0], "list", arguments[2], "list", arguments[4], "out").end == .exited(0))
        #expect(found("out") == ["a/b", "c"])
        #expect(try readFile(here.path("list")).isEmpty)
    }

    @Test func aWrongManifestFetchesNothing() throws {
        try writeFile(here.path("list"), #"{"path":"top.jpg"}\#n{"path":"in/a.jpg","kind":"picture"}\#n"#.utf8)
        let pull = try pull("--manifest", "list", "-o", "out")
        #expect(pull.end == .exited(2) && pull.errors.contains("list, line 2: unknown member 'kind'"), "\(pull.errors)")
        #expect(found("") == ["list"])
    }

    @Test func whatWasNeverTriedIsListedToo() throws {
        let arguments = ["pull", "in", "x/./y", "--files-from", "list", "--failed-to", "list", "-o", "out"]
        try writeFile(here.path("list"), "a/b\n".utf8)
        let pull = try Finished(
            arguments + ["--from", "127.0.0.1:1", "--plaintext"], Surroundings(directory: here.path))
        #expect(pull.end == .exited(3))
        let left = String(decoding: try readFile(here.path("list")), as: UTF8.self)
        #expect(Set(left.split(separator: "\n")) == ["in", "x/./y", "a/b"], "\(left)")
    }

    /// A list that is both input and output must survive a pull that could not start.
    @Test func whatCannotBeginKeepsItsList() throws {
        try writeFile(here.path("list"), "in/./d\na\n".utf8)
        let list = try pull("--files-from", "list", "--failed-to", "list", "-o", "no/such/dir")
        #expect(list.end == .exited(1) && list.errors.contains("Cannot store in 'no/such/dir'"), "\(list.errors)")
        #expect(try readFile(here.path("list")) == Array("in/./d\na\n".utf8))
        let one = ["pull", "a/b", "-o", "c", "--failed-to", "one", "--from", "127.0.0.1:1", "--plaintext"]
        #expect(try Finished(one, Surroundings(directory: here.path)).end == .exited(3))
        #expect(try readFile(here.path("one")) == Array("a/./b\n".utf8))
    }

    @Test func aNameThatIsNotUTF8IsOneFailure() throws {
        let list = [UInt8](arrayLiteral: 0xFF) + Array("\ntop.jpg\n".utf8)
        let pull = try pull("--files-from", "-", "--failed-to", "failed", "-o", "out", input: list)
        #expect(pull.end == .exited(1) && found("out") == ["top.jpg"])
        #expect(try readFile(here.path("failed")) == [0xFF, 0x0A])
    }

    // MARK: Where it goes

    @Test func oneFileMayHaveAnotherName() throws {
        #expect(try pull("top.jpg", "-o", "cover.jpg").end == .exited(0))
        #expect(found("") == ["cover.jpg"])
        #expect(try pull("top.jpg", "-o", "dir/").end == .exited(0))
        #expect(try pull("in/a.jpg", "-o", "dir").end == .exited(0))
        #expect(try pull("in/cache", "-o", "folder").end == .exited(0))
        #expect(try pull("top.jpg", "in/a.jpg", "-o", "two").end == .exited(0))
        #expect(try pull("*.jpg", "-o", "pattern").end == .exited(0))
        #expect(
            found("") == [
                "cover.jpg", "dir/a.jpg", "dir/top.jpg", "folder/cache/c.jpg", "folder/cache/keep.txt",
                "pattern/top.jpg", "two/a.jpg", "two/top.jpg",
            ])
        let again = try pull("in/a.jpg", "-o", "cover.jpg", "--on-conflict", "overwrite")
        #expect(again.output.hasPrefix("committed  in/a.jpg -> cover.jpg  "))
        #expect(try readFile(here.path("cover.jpg")) == Array("in/a.jpg".utf8))
    }

    /// A mistyped name leaves no file behind.
    @Test func aFileThatIsNotThereLeavesNothing() throws {
        let pull = try pull("gone", "-o", "file.jpg")
        #expect(pull.end == .exited(1) && pull.errors.contains("notFound  gone: "))
        #expect(access(here.path("file.jpg"), F_OK) != 0)
        let named = try self.pull("top.jpg", "-o", "cover.jpg", "--failed-to", "failed")
        #expect(named.end == .exited(2) && named.errors.contains("append a slash"), "\(named.errors)")
    }

    @Test func standardOutput() throws {
        let print = try pull("in/a.jpg", "-o", "-")
        #expect(print.end == .exited(0) && print.output == "in/a.jpg" && print.errors.isEmpty)
        #expect(try pull("gone", "-o", "-").end == .exited(1))
    }

    // MARK: What only would be

    @Test func aDryRun() throws {
        #expect(try pull("in/a.jpg", "-o", "out/").end == .exited(0))
        #expect(try pull("in/b.txt", "-o", "out").end == .exited(0))
        try writeFile(here.path("out/b.txt"), "other".utf8)
        let dry = try pull("in/a.jpg", "in/b.txt", "in/d", "gone", "-o", "out", "-n")
        #expect(dry.end == .exited(1))
        #expect(
            dry.lines.sorted() == [
                "would fetch  in/b.txt -> b.txt  8 B", "would fetch  in/d/IMG.JPG -> d/IMG.JPG  12 B",
            ])
        #expect(dry.errors.hasPrefix("notFound  gone: gone does not exist.\n"))
        let summary = "dry run: 2 would be fetched, 20 B, 1 already here, 1 failed (1 notFound)\n"
        #expect(dry.errors.hasSuffix(summary), "\(dry.errors)")
        #expect(found("") == ["out/a.jpg", "out/b.txt"])
        let object = try pull("in/b.txt", "-o", "new", "--dry-run", "--json").object()
        #expect(object.keys == ["schema", "source", "destination", "size", "form"])
        #expect(object["schema"] == "transfer.plan/1" && object["destination"] == "new" && object["size"] == "8")
        #expect(found("").count == 2)
    }

    @Test func theRateIsHeld() throws {
        try writeFile("\(server.directory)/big", randomBytes(600_000, seed: 3))
        let pull = try pull("big", "-o", "out/", "--bandwidth", "400K", "--json")
        #expect(pull.end == .exited(0), "\(pull.errors)")
        #expect(try #require(Double(pull.object()["seconds"] ?? "")) > 1.2)
    }

    @Test func colours() throws {
        let pull = try pull("top.jpg", "gone", "-o", "out", "--color", "always")
        #expect(pull.output.hasPrefix("\u{1B}[32mcommitted\u{1B}[0m  top.jpg  "))
        #expect(pull.errors.hasPrefix("\u{1B}[31mnotFound\u{1B}[0m  gone: "), "\(pull.errors)")
    }

    // MARK: What makes no sense

    @Test(arguments: [
        ([], "nothing to pull; name files or folders"),
        (
            ["a", "b", "-o", "-"],
            "-o - takes a single file; 'transfer cat' prints several, and -o DIR puts them into DIR"
        ),
        (["a", "-o", "-", "--json"], "--json cannot be combined with -o -; use -o DIR"),
        (["a", "-o", "-", "--exclude", "b"], "--exclude cannot be combined with -o -; use -o DIR"),
        (["a", "-o", "-", "-n"], "--dry-run cannot be combined with -o -; use -o DIR"),
        (
            ["--files-from", "/dev/null", "-o", "-"],
            "-o - takes a single file; 'transfer cat' prints several, and -o DIR puts them into DIR"
        ),
        (
            ["a", "-n", "--failed-to", "b"],
            "--dry-run and --failed-to exclude each other"
        ),
        (
            ["a", "--min-size", "2", "--max-size", "1"],
            "--min-size is greater than --max-size, so no file would be left"
        ),
        (["a", "--include", ""], "--include: The pattern is empty."),
        (["a", "--bandwidth", "1K"], "--bandwidth must be at least 16K"),
        (["--files-from", "/nonexistent"], "--files-from: /nonexistent cannot be read: No such file or directory"),
        (
            ["a", "--failed-to", "/nonexistent/a"],
            "cannot open '/nonexistent/a' for the list of failures: No such file or directory"
        ),
    ])
    func theCommandLineIsWrong(_ arguments: [String], _ message: String) throws {
        let pull = try Finished(["pull"] + arguments)
        #expect(pull.end == .exited(2) && pull.output == "")
        #expect(pull.errors == "transfer: \(message)\nTry 'transfer help pull'.\n")
    }
}
