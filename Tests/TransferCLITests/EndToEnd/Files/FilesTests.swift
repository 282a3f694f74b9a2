import Glibc
import Testing
import TransferTestSupport

/// Downloads and commands for stored files, with the real program on both sides.
@Suite(.ownThreads) struct FilesTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    /// A tree with every kind of file, as a user might have it.
    private static let tree: [(String, [UInt8])] = [
        ("t/note.txt", Array("hello".utf8)), ("t/empty", []), ("t/line\nfeed 😀", [1]),
        ("t/deep/er/photo", randomBytes(70_000, seed: 1)), ("t/deep/long", randomBytes(5 << 20, seed: 2)),
    ]

    private func pushed() throws -> RunningServer {
        let server = try RunningServer()
        for folder in ["from", "from/t", "from/t/deep", "from/t/deep/er"] { try makeDirectory(here.path(folder)) }
        for (path, content) in Self.tree { try writeFile(here.path("from/\(path)"), content) }
        #expect(chmod(here.path("from/t/note.txt"), 0o640) == 0)
        #expect(try server.push([here.path("from/t")]).end == .exited(0))
        return server
    }

    @Test func aFolderGoesThereAndBack() throws {
        let server = try pushed()
        let pull = try server.run(["pull", "t", "-o", here.path("to")])
        #expect(pull.end == .exited(0) && pull.lines.count == Self.tree.count, "\(pull.errors)")
        #expect(pull.output.contains("committed  t/line\\nfeed 😀  1 B  xxh128:"))
        #expect(pull.errors.contains("5 fetched, 5.3 MB in "))
        for (path, content) in Self.tree { #expect(try readFile(here.path("to/\(path)")) == content) }
        #expect(files(below: here.path("to")) == Self.tree.map(\.0).sorted())
        let before = try status(here.path("from/t/note.txt"))
        let after = try status(here.path("to/t/note.txt"))
        #expect(after.st_mode == before.st_mode && after.st_mtim.tv_sec == before.st_mtim.tv_sec)
        #expect(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
        let again = try server.run(["pull", "t", "-o", here.path("to"), "--json"])
        #expect(try again.objects().allSatisfy { $0["result"] == "alreadyStored" })
        let keys = ["schema", "source", "result", "path", "size", "digest", "resumed", "seconds", "message", "form"]
        #expect(try again.objects().allSatisfy { $0.keys == keys })
    }

    @Test(arguments: ["none", "zlib", "zstd", "auto"]) func whatIsPulledIsTheSameHoweverItTravels(_ method: String)
        throws
    {
        let server = try pushed()
        let pull = try server.run(["pull", "t", "-o", here.path("to"), "--compress", method])
        #expect(pull.end == .exited(0), "\(pull.errors)")
        for (path, content) in Self.tree { #expect(try readFile(here.path("to/\(path)")) == content) }
    }

    /// Another program made the folder in the server's directory.
    @Test func whatNoListHasIsSaid() throws {
        let server = try pushed()
        try makeDirectory("\(server.directory)/t/deep/.transfer")
        let line = "transfer: 1 name is not listed in 't/deep': not valid in a path "
        let list = try server.run(["list", "-R"])
        #expect(list.end == .exited(0) && list.errors.hasPrefix(line), "\(list.errors)")
        #expect(try server.run(["list"]).errors == "")
        for command in [["list", "-R", "--json"], ["list", "-RU", "--json"], ["du", "--json"]] {
            let told = try server.run(command)
            let last = try #require(try told.objects().last)
            #expect(last["schema"] == "transfer.unlisted/1" && last["folder"] == "t/deep" && last["count"] == "1")
            #expect(told.errors.hasPrefix(line))
        }
        #expect(try server.run(["du"]).errors.hasPrefix(line))
        let copy = try server.run(["copy", "-r", "t/deep", "u"])
        #expect(copy.end == .exited(1) && copy.errors.contains(line), "\(copy.errors)")
        let pull = try server.run(["pull", "t", "-o", here.path("to")])
        #expect(pull.end == .exited(1), "\(pull.errors)")
        #expect(pull.errors.contains("invalidPath  t/deep: 1 name in it is not listed"), "\(pull.errors)")
        #expect(files(below: here.path("to")) == Self.tree.map(\.0).sorted())
    }

    @Test func listsAreSorted() throws {
        let server = try pushed()
        #expect(try server.run(["list"]).output == "t/\n")
        let list = try server.run(["list", "t"])
        #expect(list.output == "t/deep/\nt/empty\nt/line\\nfeed 😀\nt/note.txt\n")
        let tree = try server.run(["list", "--tree"])
        #expect(
            tree.output == """
                .
                └── t/
                    ├── deep/
                    │   ├── er/
                    │   │   └── photo
                    │   └── long
                    ├── empty
                    ├── line\\nfeed 😀
                    └── note.txt

                """)
        let all = try server.run(["list", "-R", "--json"])
        #expect(
            try all.objects().map { $0["path"] } == [
                "t", "t/deep", "t/deep/er", "t/deep/er/photo", "t/deep/long", "t/empty", "t/line\\nfeed 😀",
                "t/note.txt",
            ])
        let note = try #require(try all.objects().last)
        #expect(note.keys == ["schema", "path", "type", "size", "modified", "permissions", "kind", "digest", "stored"])
        #expect(note["type"] == "file" && note["kind"] == "text" && note["permissions"] == "640")
        #expect(note["digest"] == "xxh128:b5e9c1ad071b3e7fc779cfaa5e523818")
        let long = try server.run(["list", "t", "--long"]).lines
        #expect(long.contains { $0.hasPrefix("     5 B  20") && $0.hasSuffix("Z  text      t/note.txt") }, "\(long)")
        let unsorted = try server.run(["list", "-U", "t"]).lines
        #expect(Set(unsorted) == Set(list.lines))
    }

    @Test func whatIsNotThere() throws {
        let server = try pushed()
        for arguments in [
            ["list", "x"], ["cat", "x"], ["pull", "x", "-o", here.path("to")], ["stat", "x"], ["remove", "x"],
        ] {
            let finished = try server.run(arguments)
            #expect(finished.end == .exited(1) && finished.output.isEmpty, "\(arguments)")
            #expect(finished.errors.contains("x does not exist"), "\(finished.errors)")
        }
        for arguments in [["list", ".transfer"], ["cat", "../x"], ["stat", ".transfer/lock"]] {
            #expect(try server.run(arguments).end == .exited(1), "\(arguments)")
        }
    }

    @Test func whatIsKnownIsPrinted() throws {
        let server = try pushed()
        let finished = try server.run(["stat", "t/note.txt", "nothing", "t"])
        #expect(finished.end == .exited(1))
        #expect(finished.output.contains("digest       xxh128:b5e9c1ad071b3e7fc779cfaa5e523818\n"))
        #expect(finished.output.contains("permissions  0640\n") && finished.output.contains("\n\npath         t/\n"))
        #expect(finished.errors.contains("notFound  nothing: "))
    }

    @Test func contentIsPrinted() throws {
        let server = try pushed()
        #expect(try server.run(["cat", "t/note.txt", "t/empty", "t/note.txt"]).output == "hellohello")
        let target = here.path("printed")
        try writeFile(target, [])
        var surroundings = Surroundings()
        surroundings.output = .file(target)
        #expect(try server.run(["cat", "t/deep/long"], surroundings).end == .exited(0))
        #expect(try readFile(target) == Self.tree[4].1)
    }

    /// A reader that closes the pipe has all it wants.
    @Test func aBrokenPipeIsNoError() throws {
        let server = try pushed()
        var surroundings = Surroundings()
        surroundings.output = .brokenPipe
        for command in [["cat", "t/deep/long", "t/note.txt"], ["list", "-R", "-U"], ["list", "t"], ["stat", "t"]] {
            let finished = try server.run(command, surroundings)
            #expect(finished.end == .exited(0) && finished.errors.isEmpty, "\(command): \(finished.errors)")
        }
    }

    @Test func whatIsRemovedIsStoredAgain() throws {
        let server = try pushed()
        let removed = try server.run(["remove", "t/note.txt", "t/empty"])
        #expect(removed.end == .exited(0) && removed.output == "removed  t/note.txt\nremoved  t/empty\n")
        #expect(try server.run(["remove", "t/deep"]).errors.contains("wrongForm  t/deep: "))
        let folder = try server.run(["remove", "-r", "t/deep", "--json"]).object()
        #expect(folder["files"] == "2" && folder["durable"] == "true" && folder["result"] == "completed")
        #expect(server.visibleFiles == ["t/line\nfeed 😀"])
        let again = try server.push([here.path("from/t"), "--json"])
        #expect(try again.objects().filter { $0["result"] == "committed" }.count == 4)
        #expect(server.visibleFiles.count == Self.tree.count)
        server.program.signal(SIGTERM)
        _ = try server.program.wait()
        let verified = try Finished(["verify", "--dir", server.directory])
        #expect(verified.end == .exited(0), "\(verified.output)\(verified.errors)")
    }

    /// Both sources would get the same path.
    @Test(arguments: ["move", "copy"]) func twoFilesOfOneCommandGetNoCommonName(command: String) throws {
        let server = try pushed()
        for (name, text) in [("p/f", "first"), ("q/f", "second")] {
            #expect(try server.push(["--text", text, "--name", name]).end == .exited(0))
        }
        let done = try server.run([command, "--overwrite", "p/f", "q/f", "new/"])
        #expect(done.end == .exited(1) && done.errors.contains("pathConflict"), "\(done.errors)")
        #expect(try readFile(server.directory + "/new/f") == Array("first".utf8))
        #expect(try readFile(server.directory + "/q/f") == Array("second".utf8))
    }

    /// A scrub afterwards finds every file as it was acknowledged.
    @Test func foldersAreMadeAndThingsMoved() throws {
        let server = try pushed()
        let made = try server.run(["mkdir", "new/deep", "t"])
        #expect(made.end == .exited(0) && made.output == "made  new/deep\nmade  t\n", "\(made.errors)")
        let renamed = try server.run(["move", "t/note.txt", "new/kept.txt"])
        #expect(renamed.output == "moved  t/note.txt -> new/kept.txt\n", "\(renamed.errors)")
        // Moves into an existing folder, and into one that the trailing slash creates.
        #expect(try server.run(["move", "t/empty", "new"]).output == "moved  t/empty -> new/empty\n")
        #expect(try server.run(["move", "t/deep/er", "t/deep/long", "far/"]).end == .exited(0))
        #expect(server.visibleFiles == ["far/er/photo", "far/long", "new/empty", "new/kept.txt", "t/line\nfeed 😀"])
        #expect(try server.run(["stat", "new/kept.txt"]).output.contains("xxh128:b5e9c1ad071b3e7fc779cfaa5e523818"))
        let taken = try server.run(["move", "new/empty", "new/kept.txt"])
        #expect(taken.end == .exited(1) && taken.errors.contains("pathConflict  new/empty: "), "\(taken.errors)")
        let into = try server.run(["move", "far", "far/er/x", "--json"])
        #expect(try into.end == .exited(1) && into.object()["result"] == "invalidPath")
        #expect(try server.run(["move", "new/empty", "new/kept.txt", "--overwrite", "-q"]).output.isEmpty)
        let again = try server.push([here.path("from/t"), "--json"])
        #expect(try again.objects().filter { $0["result"] == "committed" }.count == 4)
        server.program.signal(SIGTERM)
        _ = try server.program.wait()
        let verified = try Finished(["verify", "--dir", server.directory])
        #expect(verified.end == .exited(0), "\(verified.output)\(verified.errors)")
    }

    @Test(arguments: [
        ["mkdir"], ["move", "a"], ["list", "a", "b"], ["list", "--long", "--json"], ["list", "--tree", "--unsorted"],
        ["stat"], ["cat"],
        ["remove"], ["pull"], ["pull", "a", "--lanes", "0"], ["cat", "--json", "a"],
        ["list", "--plaintext", "--trust-new"],
    ]) func theCommandLineIsWrong(_ arguments: [String]) throws {
        #expect(try Finished(arguments).end == .exited(2))
    }

    @Test func nobodyThere() throws {
        for command in [
            ["list"], ["stat", "a"], ["cat", "a"], ["remove", "a"], ["pull", "a", "-o", here.path("to")],
            ["mkdir", "a"], ["move", "a", "b"],
        ] {
            let finished = try Finished(command + ["--from", "127.0.0.1:1", "--plaintext"])
            #expect(finished.end == .exited(3), "\(command)")
        }
    }

    /// The size that is large enough to be interrupted depends on the machine.
    private static let sizes = [64 << 20, 256 << 20, 512 << 20]

    /// - Parameter isServer: whether the test kills the server instead of the client.
    @Test(arguments: [(["--lanes", "1"], false), (["--lanes", "1"], true), (["--lanes", "4"], true)])
    func whatWasKilledGoesOn(flags: [String], isServer: Bool) throws {
        for size in Self.sizes {
            let content = randomBytes(size, seed: UInt64(size))
            var server = try RunningServer()
            try writeFile("\(server.directory)/big", content)
            let target = here.path("to-\(size)")
            let pull = try Program(
                ["pull", "big", "-o", target + "/", "--json", "--plaintext", "--from", server.address] + flags)
            guard try waitForPart(in: target) else { continue }
            if isServer {
                server = try server.restarted()
                let finished = try Finished(pull)
                #expect(finished.end == .exited(0), "\(finished.errors)")
            } else {
                pull.signal(SIGKILL)
                guard try pull.wait() == .killed(by: SIGKILL), files(below: target) != ["big"] else { continue }
                #expect(!files(below: target).contains("big"))
                let again = try server.run(["pull", "big", "-o", target + "/", "--json"] + flags)
                #expect(again.end == .exited(0), "\(again.errors)")
                guard try again.object()["resumed"] != "0" else { continue }
            }
            #expect(try readFile("\(target)/big") == content)
            #expect(files(below: target) == ["big"])
            return
        }
        Issue.record("no pull was caught in the middle")
    }

    /// Waits until some blocks of a long file must be stored.
    ///
    /// - Returns: false if the whole file is stored.
    private func waitForPart(in directory: String) throws -> Bool {
        let end = time(nil) + Program.patience
        while time(nil) < end {
            if files(below: directory).contains("big") { return false }
            let parts = files(below: directory + "/.transfer-parts")
            if let part = parts.first, let found = try? status("\(directory)/.transfer-parts/\(part)"),
                found.st_size > 12 << 20
            {
                return true
            }
            sched_yield()
        }
        throw Program.Failure(description: "nothing was fetched")
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Program.Failure(description: "stat \(path): errno \(errno)") }
        return status
    }
}

extension RunningServer {
    /// Runs a command for stored files to its end.
    func run(_ arguments: [String], _ surroundings: Surroundings = Surroundings()) throws -> Finished {
        try Finished(arguments + ["--plaintext", "--from", address], surroundings)
    }
}
