import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// Synchronization of two folders, with the real program on both sides.
@Suite(.ownThreads) struct SyncRunTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
        for folder in ["t", "t/d", "t/hollow"] { try makeDirectory(here.path(folder)) }
        try writeFile(here.path("t/a"), [1, 2, 3])
        try writeFile(here.path("t/d/b"), randomBytes(70_000, seed: 1))
        #expect(symlink("a", here.path("t/link")) == 0)
    }

    private func run(_ arguments: [String]) throws -> Finished {
        try Finished(arguments + ["--plaintext"], Surroundings(directory: here.path))
    }

    @Test func aFolderGoesThereAndBackAndIsChecked() throws {
        let server = try RunningServer()
        let first = try run(["sync", "t/", "\(server.address):/copy"])
        #expect(first.end == .exited(0), "\(first.errors)")
        #expect(first.errors.contains("2 sent (70.0 KB), 0 unchanged, 3 made, in "), "\(first.errors)")
        #expect(Set(first.lines) == ["new  a  3 B", "new  d/b  70.0 KB", "made  d", "made  hollow", "made  link"])
        #expect(server.visibleFiles.sorted() == ["copy/a", "copy/d/b", "copy/link"])
        let second = try run(["sync", "t/", "\(server.address):/copy"])
        #expect(second.end == .exited(0) && second.output.isEmpty)
        #expect(second.errors.contains("0 sent, 5 unchanged, in "))
        #expect(try run(["check", "--checksum", "t/", "\(server.address):/copy"]).end == .exited(0))
        let back = try run(["sync", "\(server.address):/copy/", "back"])
        #expect(back.end == .exited(0), "\(back.errors)")
        #expect(files(below: here.path("back")) == ["a", "d/b", "link"])
        // Without the slash, the folder itself is synchronized.
        #expect(try run(["sync", "\(server.address):/copy", "back"]).end == .exited(0))
        #expect(files(below: here.path("back/copy")) == ["a", "d/b", "link"])
        #expect(try run(["sync", "t", "--to", "\(server.address)/in"]).end == .exited(0))
        #expect(server.visibleFiles.contains("in/t/d/b"))
    }

    /// An address without a folder stands for the server's directory, as source and as target.
    @Test func theWholeServerGoesThereAndBack() throws {
        let server = try RunningServer()
        for (number, place) in ["\(server.address):", "\(server.address):/", "transfer://\(server.address)/"]
            .enumerated()
        {
            #expect(try run(["sync", "t/", place]).end == .exited(0))
            let back = try run(["sync", "--delete", place, "back\(number)"])
            #expect(back.end == .exited(0), "\(back.errors)")
            #expect(files(below: here.path("back\(number)")) == ["a", "d/b", "link"])
            let check = try run(["check", place, "back\(number)"])
            #expect(check.end == .exited(0), "\(check.output) \(check.errors)")
        }
    }

    /// Sync reports every name that it does not send, except Transfer's own folders at the top.
    @Test func namesOfTransfersOwnAreToldAndStopNoDeletion() throws {
        let server = try RunningServer()
        for folder in ["t/.transfer", "t/.transfer/trash", "t/d/.transfer"] { try makeDirectory(here.path(folder)) }
        for file in ["t/.transfer/trash/x", "t/d/.transfer/x", "t/.Transfer", "t/.TRANSFER-PARTS"] {
            try writeFile(here.path(file), [1])
        }
        #expect(try run(["sync", "t/", "\(server.address):/copy"]).end == .exited(0))
        #expect(unlink(here.path("t/a")) == 0)
        let synced = try run(["sync", "--delete", "t/", "\(server.address):/copy"])
        #expect(synced.end == .exited(0), "\(synced.errors)")
        #expect(server.visibleFiles.sorted() == ["copy/d/b", "copy/link"])
        for name in [".Transfer", ".TRANSFER-PARTS", "d/.transfer"] {
            #expect(synced.errors.contains("skipped  \(name): Its name is reserved for Transfer"), "\(synced.errors)")
        }
        #expect(synced.errors.contains("3 left out"), "\(synced.errors)")
        let back = try run(["sync", "--delete", "--no-trash", "\(server.address):/copy/d/", "t"])
        #expect(back.end == .exited(0), "\(back.errors)")
        #expect(back.errors.contains("skipped  d/.transfer: ") && files(below: here.path("t/d")) == [".transfer/x"])
        #expect(try run(["sync", "--delete", "\(server.address):/copy/", "t"]).end == .exited(0))
        let check = try run(["check", "--exclude", ".transfer*", "--ignore-case", "t/", "\(server.address):/copy"])
        #expect(check.end == .exited(0) && check.lines == [], "\(check.output)")
    }

    @Test func whatDiffersIsSaidAndWhatIsDeletedComesBack() throws {
        let server = try RunningServer()
        let place = "\(server.address):/copy"
        #expect(try run(["sync", "t/", place]).end == .exited(0))
        try writeFile(here.path("t/a"), [4])
        #expect(unlink(here.path("t/d/b")) == 0)
        let check = try run(["check", "t/", place])
        #expect(check.end == .exited(1))
        #expect(Set(check.lines) == ["differs  a  1 B", "extra  d/b", "attributes  d"])
        let foreseen = try run(["sync", "-n", "--delete", "t/", place])
        #expect(foreseen.errors.contains("Dry run: 1 sent"))
        #expect(server.visibleFiles.contains("copy/d/b"))
        let stopped = try run(["sync", "--delete", "--max-delete", "0", "t/", place])
        #expect(stopped.end == .exited(1))
        #expect(stopped.errors.contains("Nothing was deleted: 1 would be removed, and 0 are allowed."))
        let synced = try run(["sync", "--delete", "--json", "t/", place])
        #expect(synced.end == .exited(0), "\(synced.errors)")
        let schema = try DocumentedSchema()
        for line in synced.lines {
            let kinds = try schema.matches(JSONReader.read(Array(line.utf8)))
            #expect(kinds == ["syncChange"] || kinds == ["sync"], "\(line)")
        }
        #expect(try synced.objects().last?["deleted"] == "1")
        #expect(!server.visibleFiles.contains("copy/d/b"))
        let list = try server.run(["trash", "list"])
        #expect(list.output.contains("  copy/d/b  70.0 KB"))
        #expect(try server.run(["trash", "restore", "copy/d/b"]).end == .exited(0))
        #expect(server.visibleFiles.contains("copy/d/b"))
    }

    @Test(arguments: [
        (["t/", "u/"], "transfer sync t/ HOST:/u/"), (["t/"], "give a SOURCE and a TARGET"),
        (["a:/x", "a:/y"], "both operands are on a server"), (["--max-delete", "3", "t/", "h:/x"], "need --delete"),
        (["--no-trash", "t/", "h:/x"], "need --delete"),
    ])
    func whatMakesNoSenseIsSaid(_ arguments: [String], _ words: String) throws {
        let finished = try run(["sync"] + arguments)
        #expect(finished.end == .exited(2) && finished.errors.contains(words), "\(finished.errors)")
    }

    /// Two directories sync with one folder: the second edit does not replace the first, also after a restart of the
    /// server.
    @Test func whatAnotherOneHasChangedIsToldAndKept() throws {
        var server = try RunningServer()
        var surroundings = Surroundings(directory: here.path)
        surroundings.environment["HOME"] = here.path
        let sync = { [surroundings] (arguments: [String]) throws in
            try Finished(["sync"] + arguments + ["--plaintext"], surroundings)
        }
        #expect(try sync(["t/", "\(server.address):/copy"]).end == .exited(0))
        #expect(try sync(["\(server.address):/copy/", "u"]).end == .exited(0))
        try writeFile(here.path("t/a"), [4, 4])
        #expect(try sync(["t/", "\(server.address):/copy"]).end == .exited(0))
        server = try server.restarted()
        let place = "\(server.address):/copy"
        try writeFile(here.path("u/a"), [5, 5, 5])
        let foreseen = try sync(["-n", "u/", place])
        #expect(foreseen.end == .exited(1) && foreseen.errors.contains("conflict  a: Both sides have changed it."))
        let failing = try sync(["--on-conflict", "fail", "u/", place])
        #expect(failing.end == .exited(1) && failing.errors.contains("1 in conflict"), "\(failing.errors)")
        #expect(server.visibleFiles.sorted() == ["copy/a", "copy/d/b", "copy/link"])
        let synced = try sync(["--json", "u/", place])
        #expect(synced.end == .exited(1), "\(synced.errors)")
        let schema = try DocumentedSchema()
        for line in synced.lines {
            let kinds = try schema.matches(JSONReader.read(Array(line.utf8)))
            #expect(kinds == ["syncChange"] || kinds == ["sync"], "\(line)")
        }
        let conflict = try #require(try synced.objects().first { $0["action"] == "conflict" })
        #expect(conflict["result"] == "pathConflict" && conflict["copy"]?.hasPrefix("a.conflict-") == true)
        #expect(try synced.objects().last?["conflicts"] == "1")
        #expect(server.visibleFiles.count == 4)
        let again = try sync(["--delete", "u/", place])
        #expect(again.end == .exited(0) && again.output.isEmpty, "\(again.output)")
        let chosen = try sync(["--delete", "--on-conflict", "source", "u/", place])
        #expect(chosen.end == .exited(0) && chosen.output.contains("changed  a"), "\(chosen.output)")
        #expect(server.visibleFiles.sorted() == ["copy/a", "copy/d/b", "copy/link"])
        #expect(try sync(["--update", "t/", place]).output.contains("kept  a"))
    }

    @Test func anUnmountedDiskEmptiesNothing() throws {
        let server = try RunningServer()
        #expect(try run(["sync", "t/", "\(server.address):/copy"]).end == .exited(0))
        try makeDirectory(here.path("mount"))
        let refused = try run(["sync", "--delete", "mount/", "\(server.address):/copy"])
        #expect(refused.end != .exited(0) && refused.errors.contains("--force"))
        #expect(server.visibleFiles.count == 3)
    }

    /// A file's space is free only when its last hard link is removed.
    @Test func anotherNameKeepsTheRoom() throws {
        let server = try RunningServer(["--quota", "10M"])
        try writeFile(here.path("t/a"), randomBytes(8 << 20, seed: 2))
        #expect(link(here.path("t/a"), here.path("t/b")) == 0)
        #expect(try run(["sync", "t/", "\(server.address):/copy"]).end == .exited(0))
        #expect(try server.run(["remove", "copy/a"]).end == .exited(0))
        try writeFile(here.path("other"), randomBytes(8 << 20, seed: 3))
        let push = try server.push([here.path("other")])
        #expect(push.end != .exited(0) && push.errors.contains("quotaExceeded"), "\(push.errors)")
        #expect(try server.run(["remove", "copy/b"]).end == .exited(0))
        #expect(try server.push([here.path("other")]).end == .exited(0))
    }
}
