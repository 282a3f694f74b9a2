import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct DirectoryPushTests {
    @Test func everythingInIt() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        let tree = ["a.txt", "day one/packing list.txt", "day one/海边/说明.txt", "🌅.jpg", ".hidden", "empty", "day one/-"]
        for directory in ["trip", "trip/day one", "trip/day one/海边", "trip/nothing"] {
            try makeDirectory(sources.path(directory))
        }
        for path in tree { try writeFile(sources.path("trip/\(path)"), path == "empty" ? [] : Array(path.utf8)) }
        for spelling in ["trip", "trip/", "./trip//"] {
            let push = try server.push([spelling], Surroundings(directory: sources.path))
            #expect(push.end == .exited(0), "\(push.errors)")
        }
        #expect(server.visibleFiles == tree.map { "trip/\($0)" }.sorted())
        for path in tree { #expect(try server.stored("trip/\(path)") == (path == "empty" ? [] : Array(path.utf8))) }
        let inside = try server.push([".", "--json"], Surroundings(directory: sources.path("trip/day one")))
        #expect(try inside.objects().compactMap { $0["storedPath"] }.allSatisfy { $0.hasPrefix("day one/") })
    }

    @Test func specialFilesAreSkippedAndNamed() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        try makeDirectory(sources.path("d"))
        try writeFile(sources.path("d/file"), [1])
        symlink("file", sources.path("d/link"))
        mkfifo(sources.path("d/fifo"), 0o600)
        let socket = try RunningServer(["--listen", "unix:" + sources.path("d/socket")])
        try socket.program.waitForError("listening on unix:")
        let push = try server.push(["d"], Surroundings(directory: sources.path))
        #expect(push.end == .exited(0))
        #expect(push.lines.count == 1 && server.visibleFiles == ["d/file"])
        for (name, what) in [("link", "a symbolic link"), ("fifo", "a FIFO"), ("socket", "a socket")] {
            let line = "sourceSkipped  d/\(name): Skipped: it is \(what), not a file or a directory.\n"
            #expect(push.errors.contains(line), "\(push.errors)")
        }
        #expect(push.errors.contains("1 stored, ") && push.errors.hasSuffix(", 3 skipped\n"))
    }

    /// A special file named in the command is wanted, and storing nothing is no success.
    @Test func aSpecialFileThatIsNamedIsAFailure() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        mkfifo(sources.path("fifo"), 0o600)
        let push = try server.push([sources.path("fifo"), photo])
        #expect(push.end == .exited(1))
        #expect(push.errors.hasSuffix(", 1 failed (1 sourceSkipped)\n"), "\(push.errors)")
        #expect(server.visibleFiles == ["demo.png"])
    }

    @Test func aNamedLinkIsFollowed() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        symlink(photo, sources.path("link.png"))
        #expect(try server.push([sources.path("link.png")]).end == .exited(0))
        #expect(try server.stored("link.png") == readFile(photo))
    }

    @Test func emptyOnesAreSaidToBe() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        let push = try server.push([sources.path])
        #expect(push.end == .exited(0) && push.errors == "no files to push\n")
    }

    @Test func oneOddNameFailsAlone() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        try makeDirectory(sources.path("d"))
        try writeFile(sources.path("d/a"), [1])
        try writeFile(sources.path("d/z"), [2])
        let odd = Array(sources.path("d/odd").utf8.map { CChar(bitPattern: $0) }) + [-1, 0]
        close(creat(odd, 0o600))
        let push = try server.push([sources.path("d")])
        #expect(push.end == .exited(1))
        #expect(push.errors.contains("d/odd\u{FFFD}: Its name is not UTF-8; rename it.\n"), "\(push.errors)")
        #expect(server.visibleFiles == ["d/a", "d/z"])
        unlink(odd)
    }

    @Test(.enabled(if: geteuid() != 0, "root may read anything")) func whatCannotBeReadFailsAlone() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        for name in ["a", "b"] { try writeFile(sources.path(name), [1]) }
        chmod(sources.path("a"), 0)
        try makeDirectory(sources.path("c"))
        chmod(sources.path("c"), 0)
        let push = try server.push([sources.path], to: "/x")
        #expect(push.end == .exited(1))
        #expect(push.errors.contains("2 failed (2 sourceUnreadable)"), "\(push.errors)")
        #expect(server.visibleFiles.count == 1)
    }

    /// The server works with few file descriptors, too: it must not open more files at a time than its limit allows.
    @Test(arguments: [nil, 128]) func aThousandSmallFiles(_ descriptorLimit: Int?) throws {
        let server = try RunningServer([], Surroundings(descriptorLimit: descriptorLimit))
        let sources = try TemporaryDirectory()
        try makeDirectory(sources.path("d"))
        var generator = SplitMix64(seed: 7)
        var contents: [String: [UInt8]] = [:]
        for number in 0..<1_000 {
            contents["d/\(number)"] = generator.bytes(number % 4_096)
            try writeFile(sources.path("d/\(number)"), contents["d/\(number)"] ?? [])
        }
        let push = try server.push([sources.path("d"), "--quiet"])
        #expect(push.end == .exited(0) && push.errors == "")
        #expect(server.visibleFiles == contents.keys.sorted())
        for (path, content) in contents { #expect(try server.stored(path) == content) }
    }
}
