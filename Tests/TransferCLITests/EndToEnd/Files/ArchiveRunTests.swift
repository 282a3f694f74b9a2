import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// Directory trees pushed and pulled with their metadata, with the real program on both sides.
@Suite(.ownThreads) struct ArchiveRunTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
        for folder in ["t", "t/d", "t/hollow"] { try makeDirectory(here.path(folder)) }
        try writeFile(here.path("t/a"), [1, 2, 3])
        try writeFile(here.path("t/d/b"), randomBytes(70_000, seed: 1))
        #expect(symlink("a", here.path("t/link")) == 0)
        #expect(symlink("../..", here.path("t/d/up")) == 0)
        #expect(link(here.path("t/a"), here.path("t/d/name")) == 0)
        #expect(chmod(here.path("t/hollow"), 0o750) == 0 && chmod(here.path("t/a"), 0o604) == 0)
        for path in ["t/a", "t/link", "t/hollow", "t/d", "t"] { age(path) }
    }

    private func age(_ path: String) {
        let times = [timespec(tv_sec: 5, tv_nsec: 6), timespec(tv_sec: 1_234_567_890, tv_nsec: 123)]
        #expect(utimensat(AT_FDCWD, here.path(path), times, AT_SYMLINK_NOFOLLOW) == 0)
    }

    private func run(_ arguments: String...) throws -> Finished {
        try Finished(arguments + ["--plaintext"], Surroundings(directory: here.path))
    }

    /// The metadata of the directory and everything below it that an archive keeps.
    private func facts(_ top: String, _ path: String = "") -> [String] {
        var status = stat()
        let place = path.isEmpty ? top : "\(top)/\(path)"
        guard lstat(place, &status) == 0 else { return ["\(path) is gone"] }
        var target = [CChar](repeating: 0, count: 256)
        let count = max(0, readlink(place, &target, 255))
        let link = String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let names = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_nlink) : 0
        let content = names > 0 ? (try? readFile(place))?.hashValue ?? 0 : 0
        let own =
            "\(path) \(String(status.st_mode, radix: 8)) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(link) \(names) "
            + "\(content)"
        guard isDirectory(place) else { return [own] }
        let inner = TransferTestSupport.names(in: place).sorted().filter { !$0.hasPrefix(".transfer") }
        return [own] + inner.flatMap { facts(top, path.isEmpty ? $0 : "\(path)/\($0)") }
    }

    @Test func aTreeGoesThereAndBack() throws {
        let server = try RunningServer()
        let place = "\(server.address):/in"
        let before = facts(here.path("t"))
        let foreseen = try run("push", "-a", "-n", "t", place)
        #expect(foreseen.end == .exited(0) && foreseen.lines.contains("would send  t/hollow -> in/t/hollow/"))
        #expect(foreseen.errors.contains("2 would be sent, 70.0 KB, 3 folders, 2 links, 1 hard link"))
        let first = try run("push", "-a", "t", place)
        #expect(first.end == .exited(0), "\(first.errors)")
        #expect(
            first.errors.contains("2 stored, 70.0 KB in ") && first.errors.contains(", 3 folders, 2 links, 1 hard link")
        )
        #expect(first.lines.contains("committed  t/hollow -> in/t/hollow/"), "\(first.output)")
        #expect(facts("\(server.directory)/in/t") == before)
        let again = try run("push", "--archive", "t", place)
        #expect(again.end == .exited(0) && again.errors.hasPrefix("0 stored, 0 B in "), "\(again.errors)")
        #expect(again.errors.contains(", 8 there already"))
        #expect(
            try run("pull", "-a", "-n", "\(place)/t", "back").errors.hasPrefix(
                "dry run: 2 would be fetched, 70.0 KB, 3 folders, 2 links"))
        let back = try run("pull", "-a", "\(place)/t", "back")
        #expect(back.end == .exited(0) && back.errors.contains(", 3 folders, 2 links, 1 hard link"), "\(back.errors)")
        #expect(facts(here.path("back/t")) == before)
        #expect(try run("check", "t/", "\(place)/t").end == .exited(0))
        #expect(chmod(here.path("back/t/a"), 0o600) == 0)
        let repaired = try run("pull", "-a", "\(place)/t", "back")
        #expect(repaired.errors.contains(", 1 with other attributes, 8 already here"), "\(repaired.errors)")
        #expect(facts(here.path("back/t")) == before)
    }

    @Test func whatIsPrintedForProgramsIsDescribed() throws {
        let server = try RunningServer()
        let schema = try DocumentedSchema()
        let push = try run("push", "-a", "--json", "t", "\(server.address):")
        #expect(Set(try push.objects().compactMap { $0["form"] }) == ["file", "folder", "link", "hard-link"])
        for line in push.lines {
            #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["upload"], "\(line)")
        }
        let pull = try run("pull", "-a", "--json", "\(server.address):/t", "back")
        #expect(pull.lines.count == 8)
        for line in pull.lines {
            #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["download"], "\(line)")
        }
        for command in [["push", "t", "\(server.address):"], ["pull", "\(server.address):/t", "other"]] {
            let foreseen = try Finished(
                command + ["-a", "-n", "--json", "--plaintext"], Surroundings(directory: here.path))
            #expect(foreseen.lines.count == 8)
            for line in foreseen.lines {
                #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["plan"], "\(line)")
            }
        }
    }

    /// Like mv: sources that are stored are removed, and what is not stored remains together with its folders.
    @Test func theSourceGoes() throws {
        let server = try RunningServer()
        let before = facts(here.path("t"))
        #expect(mkfifo(here.path("t/d/fifo"), 0o600) == 0)
        let push = try run("push", "-a", "--delete-source", "t", "\(server.address):")
        #expect(push.end == .exited(0) && push.errors.contains(", 6 removed here"), "\(push.errors)")
        #expect(files(below: here.path("t")) == ["d/fifo"])
        #expect(unlink(here.path("t/d/fifo")) == 0)
        let rest = try run("push", "-a", "--delete-source", "t", "\(server.address):")
        #expect(rest.end == .exited(0) && names(in: here.path).filter { !$0.hasPrefix(".") } == [], "\(rest.errors)")
        // The folders changed when their files were removed, so only the names are compared.
        let names = before.filter { !$0.hasPrefix(" ") }.map { $0.split(separator: " ")[0] }
        #expect(Set(facts("\(server.directory)/t").map { $0.split(separator: " ")[0] }).isSuperset(of: names))
    }

    @Test func nothingGoesWithoutDurability() throws {
        let server = try RunningServer(["--durability", "none"])
        let before = facts(here.path("t"))
        let push = try run("push", "-a", "--delete-source", "t", "\(server.address):")
        #expect(push.end == .exited(1) && facts(here.path("t")).count == before.count)
        #expect(push.errors.contains(", 8 not removed here"), "\(push.errors)")
    }

    /// The list of failures can be pushed again, and a folder in it stands for its content.
    @Test func whatFailedIsListed() throws {
        let server = try RunningServer()
        try makeDirectory("\(server.directory)/t")
        try writeFile("\(server.directory)/t/d", [7])
        let push = try run("push", "-a", "--failed-to", "list", "t", "\(server.address):")
        #expect(push.end == .exited(1), "\(push.errors)")
        #expect(String(decoding: try readFile(here.path("list")), as: UTF8.self) == "t/d\n")
        #expect(unlink("\(server.directory)/t/d") == 0)
        let rest = try run("push", "-a", "--files-from", "list", "--failed-to", "list", "--to", server.address)
        #expect(rest.end == .exited(0), "\(rest.errors)")
        #expect(try readFile(here.path("list")).isEmpty)
        #expect(server.visibleFiles == ["t/a", "t/d/b", "t/d/name", "t/d/up", "t/link"])
    }

    /// After a kill at any time, the same command completes the tree.
    @Test(arguments: [1, 3, 6]) func aKilledPushGoesOn(_ files: Int) throws {
        for index in 0..<40 {
            try makeDirectory(here.path("t/d/\(index)"))
            try writeFile(here.path("t/d/\(index)/f"), randomBytes(30_000, seed: UInt64(index)))
            #expect(symlink("f", here.path("t/d/\(index)/l")) == 0)
            #expect(link(here.path("t/d/\(index)/f"), here.path("t/d/\(index)/g")) == 0)
            age("t/d/\(index)")
        }
        age("t/d")
        age("t")
        let server = try RunningServer()
        let push = try Program(
            ["push", "-a", "t", "--to", server.address, "--plaintext", "--bandwidth", "200K", "-v"],
            Surroundings(directory: here.path))
        try push.waitForOutput("committed") { $0.split(separator: "\n").count >= files }
        push.signal(SIGKILL)
        _ = try push.wait()
        let again = try run("push", "-a", "t", "--to", server.address)
        #expect(again.end == .exited(0), "\(again.errors)")
        #expect(facts("\(server.directory)/t") == facts(here.path("t")))
        let pull = try Program(
            ["pull", "-a", "t", "--from", server.address, "-o", "back", "--plaintext", "--bandwidth", "200K"],
            Surroundings(directory: here.path))
        try pull.waitForOutput("committed") { $0.split(separator: "\n").count >= files }
        pull.signal(SIGKILL)
        _ = try pull.wait()
        let pulled = try run("pull", "-a", "t", "--from", server.address, "-o", "back")
        #expect(pulled.end == .exited(0), "\(pulled.errors)")
        #expect(facts(here.path("back/t")) == facts(here.path("t")))
    }

    @Test(arguments: [
        (["push", "-a", "--for", "anna", "t"], "--archive cannot be combined with --for"),
        (["push", "-a", "t", "--to", "http://127.0.0.1:1/"], "--archive cannot be used over HTTP"),
        (["push", "-a", "t", "--classic", "sized", "--to", "127.0.0.1:1"], "--archive cannot be used with --classic"),
        (["pull", "-a", "t", "-o", "-"], "--archive cannot be combined with -o -"),
    ])
    func whatMakesNoSenseIsSaid(_ arguments: [String], _ words: String) throws {
        let finished = try Finished(arguments, Surroundings(directory: here.path))
        #expect(finished.end == .exited(2) && finished.errors.contains(words), "\(finished.errors)")
    }
}
