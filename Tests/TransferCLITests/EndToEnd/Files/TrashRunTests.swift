import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// The trash of a server, with the real program on both sides.
@Suite(.ownThreads) struct TrashRunTests {
    private func pushed(_ flags: [String] = []) throws -> RunningServer {
        let server = try RunningServer(flags)
        try writeFile(server.home.path("a"), [1, 2, 3])
        try writeFile(server.home.path("b"), [4])
        #expect(try server.push([server.home.path("a"), server.home.path("b")], to: "/d").end == .exited(0))
        return server
    }

    /// The batches that `trash list` shows, each once.
    private func batches(_ server: RunningServer) throws -> [String] {
        let list = try server.run(["trash", "list", "--json"])
        let schema = try DocumentedSchema()
        for line in list.lines { #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["trashed"]) }
        return try list.objects().compactMap { $0["batch"] }
    }

    @Test func whatGoesThereComesBack() throws {
        let server = try pushed()
        #expect(try server.run(["remove", "--trash", "d/a"]).end == .exited(0))
        #expect(server.visibleFiles == ["d/b"])
        #expect(try server.run(["trash", "list"]).output.hasSuffix("  d/a  3 B\n"))
        #expect(try server.run(["trash", "restore", "d/a"]).end == .exited(0))
        #expect(try server.stored("d/a") == [1, 2, 3])
        #expect(try server.run(["trash", "list"]).output.isEmpty)
        // The catalog still has the digest of the restored file.
        #expect(try server.run(["stat", "d/a", "--json"]).object()["digest"]?.hasPrefix("xxh128:") ?? false)
        let missing = try server.run(["trash", "restore", "d/a"])
        #expect(missing.end != .exited(0) && missing.errors.contains("d/a"))
    }

    /// The trash lists and restores a symbolic link like a file, wherever the link leads.
    @Test func aLinkComesBack() throws {
        let server = try pushed()
        #expect(symlink("/nowhere", "\(server.directory)/d/l") == 0)
        #expect(try server.run(["remove", "--trash", "d/l"]).end == .exited(0))
        #expect(server.visibleFiles == ["d/a", "d/b"])
        #expect(try server.run(["trash", "list"]).output.contains("  d/l  "))
        #expect(try batches(server).count == 1)
        #expect(try server.run(["trash", "restore", "d/l"]).end == .exited(0))
        var status = stat()
        #expect(lstat("\(server.directory)/d/l", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try server.run(["trash", "list"]).output.isEmpty)
    }

    /// If two removed files had one path, the last one is restored, also if a link with the path of a folder was
    /// removed later.
    @Test func theLastOneComesBack() throws {
        let server = try pushed()
        #expect(try server.run(["remove", "--trash", "d/a"]).end == .exited(0))
        try writeFile(server.home.path("a"), [9])
        #expect(try server.push([server.home.path("a")], to: "/d").end == .exited(0))
        #expect(try server.run(["remove", "-r", "--trash", "d"]).end == .exited(0))
        #expect(symlink("/nowhere", "\(server.directory)/d") == 0)
        #expect(try server.run(["remove", "--trash", "d"]).end == .exited(0))
        #expect(try Set(batches(server)).count == 3)
        let last = try server.run(["trash", "restore", "d/a"])
        #expect(last.end == .exited(0), "\(last.errors)")
        #expect(try server.stored("d/a") == [9])
    }

    @Test func whatIsTakenStaysInTheTrash() throws {
        let server = try pushed()
        #expect(try server.run(["remove", "--trash", "d/a"]).end == .exited(0))
        try writeFile(server.home.path("a"), [9])
        #expect(try server.push([server.home.path("a")], to: "/d").end == .exited(0))
        let refused = try server.run(["trash", "restore", "d/a"])
        #expect(refused.end != .exited(0) && refused.errors.contains("pathConflict"), "\(refused.errors)")
        #expect(try server.stored("d/a") == [9])
        #expect(try batches(server).count == 1)
    }

    @Test func aServerKeepsWhatIsRemovedWhenToldTo() throws {
        let server = try pushed(["--trash"])
        #expect(try server.run(["remove", "-r", "d"]).end == .exited(0))
        #expect(server.visibleFiles == [])
        #expect(try batches(server).count == 2)
        // Trashed files survive a restart, until the trash is emptied.
        let again = try server.restarted()
        #expect(try batches(again).count == 2)
        #expect(try again.run(["trash", "empty"]).end == .exited(0))
        #expect(try batches(again) == [])
        #expect(files(below: again.directory).allSatisfy { !$0.contains("trash/") })
    }

    /// Trash batches without files from the client's folder cause no failure, and no message reveals where the server
    /// keeps its trash.
    @Test func aFolderHasATrashOfItsOwn() throws {
        let server = try pushed()
        #expect(try server.push([server.home.path("a")], to: "/e/f").end == .exited(0))
        #expect(symlink("/nowhere", "\(server.directory)/x") == 0)
        for path in ["e/f/a", "d/a", "x", "d/b"] {
            #expect(try server.run(["remove", "--trash", path]).end == .exited(0))
        }
        let below = { (folder: String, words: [String]) in
            try Finished(["trash"] + words + ["--plaintext", "--from", "\(server.address)/\(folder)"])
        }
        let list = try below("d", ["list"])
        #expect(list.end == .exited(0) && list.errors == "", "\(list.errors)")
        #expect(list.lines.map { $0.split(separator: " ")[1] } == ["b", "a"])
        for folder in ["none", "x/y", "d/a/y"] {
            let nothing = try below(folder, ["list"])
            #expect(nothing.end == .exited(0) && nothing.output == "" && nothing.errors == "", "\(nothing.errors)")
            let emptied = try below(folder, ["empty"])
            #expect(emptied.end == .exited(0) && emptied.output == "" && emptied.errors == "", "\(emptied.errors)")
        }
        // A missing name does not keep the other files from being restored.
        let restored = try below("d", ["restore", "missing", "a"])
        #expect(restored.end == .exited(1) && restored.output == "restored  a\n")
        #expect(restored.errors.hasPrefix("notFound  missing: It is not in the trash"), "\(restored.errors)")
        #expect(server.visibleFiles == ["d/a"])
        let other = try #require(try batches(server).last)
        let wrong = try below("none", ["empty", "--batch", other])
        #expect(wrong.end == .exited(1) && !wrong.errors.contains(".transfer"), "\(wrong.errors)")
        #expect(wrong.errors.contains("none does not exist."))
        let emptied = try below("d", ["empty"])
        #expect(emptied.end == .exited(0) && emptied.lines.count == 1 && emptied.errors == "", "\(emptied.errors)")
        #expect(try server.run(["trash", "list"]).lines.count == 2)
    }

    /// A new directory has a trash: overwritten files are listed with their versions, one command restores a version,
    /// and that can be undone as well.
    @Test func whatIsOverwrittenComesBack() throws {
        let server = try RunningServer(hasTrash: true)
        let file = server.home.path("a")
        var lines: [String] = []
        for byte in [1, 2, 3] as [UInt8] {
            try writeFile(file, [UInt8](repeating: byte, count: Int(byte)))
            let push = try server.push([file, "--on-conflict", "overwrite"], to: "/d")
            #expect(push.end == .exited(0), "\(push.errors)")
            lines = push.errors.split(separator: "\n").map(String.init)
        }
        let versions = try server.run(["trash", "list", "--path", "d/a"])
        #expect(
            versions.lines.map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == [
                "d/a 2 B", "d/a 1 B",
            ])
        #expect(try server.run(["trash", "list", "--path", "d/b"]).output.isEmpty)
        // The line that the push printed contains the command.
        let undo = try #require(lines.last { $0.contains("replaced file") })
        let quoted = try #require(undo.firstRange(of: "'transfer ")).lowerBound
        let command = undo[quoted...].dropFirst().prefix { $0 != "'" }.split(separator: " ").map(String.init)
        #expect(command.prefix(3) == ["transfer", "trash", "restore"] && command.contains("--overwrite"), "\(undo)")
        let back = try Finished(Array(command.dropFirst()) + ["--plaintext"])
        #expect(back.end == .exited(0), "\(back.errors)")
        #expect(try server.stored("d/a") == [2, 2])
        let list = try server.run(["trash", "list", "--path", "d/a"])
        #expect(
            list.lines.map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == ["d/a 3 B", "d/a 1 B"])
        // Without the flag, the restored file does not replace the present one.
        #expect(try server.run(["trash", "restore", "d/a"]).errors.contains("pathConflict"))
        #expect(try server.run(["trash", "restore", "--overwrite", "d/a"]).end == .exited(0))
        #expect(try server.stored("d/a") == [3, 3, 3])
    }

    /// A move and a copy report a replaced file as a push does, in text and in JSON.
    @Test(arguments: ["move", "copy"]) func whatAMoveOrACopyReplacesComesBack(command: String) throws {
        let server = try RunningServer(hasTrash: true)
        for (name, byte) in [("a", 1), ("b", 2), ("c", 3)] as [(String, UInt8)] {
            try writeFile(server.home.path(name), [byte])
            #expect(try server.push([server.home.path(name)]).end == .exited(0))
        }
        let refused = try server.run([command, "a", "b"])
        #expect(refused.end == .exited(1) && !refused.errors.contains("replaced file"), "\(refused.errors)")
        let told = try server.run([command, "--overwrite", "a", "b"])
        #expect(told.end == .exited(0), "\(told.errors)")
        let undo = try #require(told.errors.split(separator: "\n").first { $0.contains("1 replaced file is") })
        let quoted = try #require(undo.firstRange(of: "'transfer ")).lowerBound
        let arguments = undo[quoted...].dropFirst().prefix { $0 != "'" }.split(separator: " ").map(String.init)
        #expect(try Finished(Array(arguments.dropFirst()) + ["--plaintext"]).end == .exited(0))
        #expect(try server.stored("b") == [2])
        let listed = try batches(server)
        let json = try server.run([command, "--overwrite", "--json", "b", "c"]).object()
        let (kept, known) = (try #require(json["trash"]), Set(try batches(server)))
        #expect(known.contains(kept) && !listed.contains(kept), "\(json)")
        #expect(try server.run([command, "--json", "c", "d"]).object()["trash"] == "null")
        #expect(try server.run([command, "-q", "--overwrite", "d", command == "move" ? "b" : "a"]).errors.isEmpty)
    }

    /// A directory keeps its trash setting, also when it is copied, until a flag changes it.
    @Test func aDirectoryKeepsItsTrash() throws {
        let server = try RunningServer(hasTrash: true)
        try writeFile(server.home.path("a"), [1])
        let push = { (server: RunningServer, byte: UInt8) in
            try writeFile(server.home.path("a"), [byte])
            return try server.push([server.home.path("a"), "--on-conflict", "overwrite", "--json"])
        }
        #expect(try push(server, 1).object()["trash"] == "null")
        let again = try server.restarted()
        let kept = try push(again, 2).object()
        #expect(kept["replaced"] == "true")
        #expect(try batches(again) == [kept["trash"]].compactMap(\.self))
        again.program.signal(SIGTERM)
        _ = try again.program.wait()
        let without = try RunningServer(["--no-trash"], in: again.home)
        #expect(try push(without, 3).object()["trash"] == "null")
        #expect(try batches(without).count == 1)
        let later = try without.restarted()
        #expect(try push(later, 4).object()["trash"] == "null")
        #expect(try batches(later).count == 1)
    }

    @Test func whatIsOldGoesForGood() throws {
        let server = try pushed(["--trash"])
        #expect(try server.run(["remove", "d/a"]).end == .exited(0))
        #expect(try server.run(["remove", "d/b"]).end == .exited(0))
        let trash = "\(server.directory)/.transfer/trash"
        let parts = names(in: trash)
        #expect(parts.count == 2)
        #expect(rename("\(trash)/\(parts[0])", "\(trash)/2001-02-03T04-05-06Z-00000000") == 0)
        // The server checks its trash when it starts.
        let again = try server.restarted()
        _ = try again.program.waitForError("that were put into the trash at 2001-02-03T04:05:06Z")
        #expect(names(in: trash) == [parts[1]])
    }

    @Test func whatThereIsAndWhatWouldGoIsSaid() throws {
        let server = try pushed()
        #expect(try server.push([server.home.path("b")], to: "/d/e/f").end == .exited(0))
        let usage = try server.run(["du"])
        #expect(usage.output == "     5 B  d/  3 files\n     5 B  .  3 files\n", "\(usage.output)")
        let deep = try server.run(["du", "d", "--depth", "2", "--json"])
        #expect(try deep.objects().map { $0["path"] } == ["d/e", "d/e/f", "d"])
        #expect(try deep.objects().map { $0["bytes"] } == ["1", "1", "5"])
        #expect(try server.run(["du", "-s", "d/a", "no"]).end != .exited(0))
        let foreseen = try server.run(["remove", "-nr", "d"])
        #expect(foreseen.end == .exited(0) && foreseen.output == "would remove  d  3 files\n")
        #expect(try server.run(["remove", "-n", "d"]).end != .exited(0))
        let told = try server.run(["remove", "-n", "--json", "d/a"])
        #expect(try DocumentedSchema().matches(JSONReader.read(Array(told.output.utf8))) == ["removal"])
        let object = try told.object()
        #expect(object["dryRun"] == "true" && object["trash"] == "false" && object["files"] == "1")
        #expect(server.visibleFiles.count == 3)
        #expect(try server.run(["remove", "--json", "d/a"]).object()["dryRun"] == "false")
    }

    /// What a removal refuses, its dry run refuses with the same words.
    @Test func whatCannotBeRemovedIsForeseen() throws {
        let server = try pushed()
        try makeDirectory("\(server.directory)/u")
        try makeDirectory("\(server.directory)/u/.transfer")
        for words in [["-nr"], ["-r"], ["-nr", "--trash"], ["-r", "--trash"], ["-n"]] {
            let top = try server.run(["remove"] + words + ["/"])
            #expect(top.end == .exited(1) && top.output == "", "\(top.output)")
            #expect(
                top.errors
                    == "invalidPath  .: It is the top folder of the server, which cannot be removed; name "
                    + "the files and folders in it.\n"
            )
        }
        for words in ["-nr", "-r"] {
            let full = try server.run(["remove", words, "u"])
            #expect(full.end == .exited(1) && full.errors.contains("pathConflict  u: "), "\(full.errors)")
        }
        #expect(try server.run(["remove", "-nr", "--trash", "u"]).end == .exited(0))
        #expect(try server.run(["remove", "-r", "--trash", "u"]).end == .exited(0))
        #expect(server.visibleFiles == ["d/a", "d/b"])
    }

    /// A removal to the trash does not count the files that go there; only the dry run counts them.
    @Test(arguments: [[], ["--trash"]]) func whatGoesToTheTrashIsToldAsThat(_ flags: [String]) throws {
        let server = try pushed(flags)
        let asked = flags.isEmpty ? ["--trash"] : []
        #expect(
            try server.run(["remove", "-nr", "d"] + asked).output == "would go to the trash  d  2 files\n")
        let foreseen = try server.run(["remove", "-nr", "--json", "d"] + asked).object()
        #expect(foreseen["trash"] == "true" && foreseen["dryRun"] == "true" && foreseen["files"] == "2")
        #expect(try server.run(["remove", "--json", "d/b"] + asked).object()["trash"] == "true")
        #expect(try server.run(["remove", "-r", "d"] + asked).output == "went to the trash  d\n")
        #expect(server.visibleFiles == [])
    }

    @Test func filesAndFoldersAreCopiedThere() throws {
        let server = try pushed()
        let one = try server.run(["copy", "d/a", "x/c"])
        #expect(one.end == .exited(0) && one.output == "copied to  x/c\n", "\(one.errors)")
        #expect(try server.stored("x/c") == [1, 2, 3])
        #expect(try server.run(["cp", "d", "e"]).errors.contains("--recursive"))
        #expect(try server.run(["cp", "-r", "d", "e"]).end == .exited(0))
        #expect(try server.run(["cp", "-r", "d", "d"]).end == .exited(0))
        #expect(server.visibleFiles.sorted() == ["d/a", "d/b", "d/d/a", "d/d/b", "e/a", "e/b", "x/c"])
        let taken = try server.run(["copy", "d/b", "x/c"])
        #expect(taken.end != .exited(0) && taken.errors.contains("pathConflict"))
        #expect(try server.run(["copy", "--overwrite", "d/b", "x/c"]).end == .exited(0))
        #expect(try server.stored("x/c") == [4])
    }
}
