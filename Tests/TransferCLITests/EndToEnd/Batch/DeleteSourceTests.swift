import Testing
import TransferTestSupport

@Suite(.ownThreads) struct DeleteSourceTests {
    @Test func whatIsStoredGoes() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["in/a", "in/deep/b"])
        let push = try files.push(server, "in", "--delete-source", "--json")
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(push.errors.contains(", 2 removed here"), "\(push.errors)")
        #expect(try push.objects().map { $0["sourceDeleted"] } == ["true", "true"])
        #expect(isDirectory(files.home.path("in/deep")))
        #expect(TransferCLITests.files(below: files.home.path) == [])
        #expect(server.visibleFiles == ["in/a", "in/deep/b"])
    }

    @Test func whatWasStoredBeforeGoesToo() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a", "b"])
        #expect(try files.push(server, "a", "b").end == .exited(0))
        let push = try files.push(server, "a", "b", "--delete-source")
        #expect(push.end == .exited(0) && push.output.hasPrefix("alreadyStored  "), "\(push.errors)")
        #expect(TransferCLITests.files(below: files.home.path) == [])
    }

    @Test func nothingGoesWithoutDurability() throws {
        let server = try RunningServer(["--durability", "none"])
        let files = try BatchFiles(["a"])
        for isThere in [false, true] {
            let push = try files.push(server, "a", "--delete-source")
            #expect(push.end == .exited(1))
            let sentence =
                "not removed  a: The server has not confirmed that it is durable.\n\(isThere ? 0 : 1) stored, "
            #expect(push.errors.hasPrefix(sentence), "\(push.errors)")
            #expect(push.errors.contains(", 1 there already") == isThere)
            #expect(push.errors.contains(", 1 not removed here"))
        }
        #expect(try files.text("a") == "a")
    }

    /// Two sources have one name. Storing the second would replace the stored copy of the first, whose source is
    /// removed.
    @Test(arguments: [false, true]) func whatTheSamePushHasStoredIsNotReplaced(listed: Bool) throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a/x", "b/x"])
        try writeFile(files.home.path("list"), #"{"path":"a/x","name":"x"}\#n{"path":"b/x","name":"x"}\#n"#.utf8)
        let sources = listed ? ["--manifest", "list"] : ["a/x", "b/x"]
        let flags = ["--on-conflict", "overwrite", "--delete-source"]
        let push = try server.push(sources + flags, to: "", files.here)
        #expect(push.end == .exited(1) && push.errors.contains("pathConflict  b/x: Another file of this push"))
        #expect(push.errors.contains(", 1 removed here"), "\(push.errors)")
        #expect(TransferCLITests.files(below: files.home.path) == ["b/x", "list"])
        #expect(server.visibleFiles == ["x"])
        #expect(try readFile(server.directory + "/x") == Array("a/x".utf8))
    }

    /// The receipt is written before the source is removed.
    @Test func notWithoutTheReceipt() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a"])
        let push = try files.push(server, "a", "--delete-source", "--receipts", "/dev/full")
        #expect(push.end == .exited(1))
        #expect(push.errors.hasPrefix("not removed  a: Its receipt could not be kept.\n"), "\(push.errors)")
        #expect(try files.text("a") == "a")
        let kept = try files.push(server, "a", "--delete-source", "--receipts", "receipts")
        #expect(kept.end == .exited(0), "\(kept.errors)")
        #expect(try files.text("receipts").split(separator: "\n").count == 1)
        #expect(TransferCLITests.files(below: files.home.path) == ["receipts"])
    }

    /// More files than one question to the server covers, in several directories.
    @Test func manyGo() throws {
        let server = try RunningServer()
        let names = (0..<1_500).map { "in/\($0 % 7)/f\($0)" }
        let files = try BatchFiles(names)
        let push = try files.push(server, "in", "--delete-source", "--quiet")
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(TransferCLITests.files(below: files.home.path) == [])
        #expect(server.visibleFiles == names.sorted())
    }

    /// A write-only client may not learn whether the server has another copy, but it knows about the files that it has
    /// just sent.
    @Test func whoMayOnlySend() throws {
        let server = try SecureServer(user: "operator")
        _ = try server.access(["add", "--write-only", try server.key()])
        let files = try BatchFiles(["a", "b"])
        func push(_ flags: String...) throws -> Finished {
            var surroundings = server.surroundings()
            surroundings.directory = files.home.path
            return try Finished(["push", "--to", server.address, "--trust-new"] + flags, surroundings)
        }
        let first = try push("a", "--delete-source")
        #expect(first.end == .exited(0) && first.output.hasPrefix("committed"), "\(first.errors)")
        #expect(try push("b").end == .exited(0))
        for policy in ["keep-both", "overwrite"] {
            let again = try push("--delete-source", "b", "--on-conflict", policy)
            #expect(again.end == .exited(1))
            #expect(
                again.errors.contains("not removed  b: This client may not read files on the server"), "\(again.errors)"
            )
        }
        #expect(TransferCLITests.files(below: files.home.path) == ["b"])
    }
}
