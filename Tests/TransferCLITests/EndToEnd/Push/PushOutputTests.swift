import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct PushOutputTests {
    @Test func linesForPeople() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--digest", "sha256"])
        let digest = try server.push([photo, "--digest", "sha256", "--json"]).object()["digest"] ?? ""
        #expect(push.output == "committed  \(photo) -> demo.png  51.5 KB  PNG 640x400  \(digest)\n")
        #expect(push.errors.hasPrefix("1 stored, 51.5 KB in ") && push.errors.hasSuffix("/s)\n"))
        #expect(push.errors.split(separator: "\n").count == 1)
    }

    /// Files that were already stored are only counted, because a list of them would hide the changed ones. A file
    /// named in the command gets a line.
    @Test(arguments: [true, false]) func whatWasThereIsCountedAndNotListed(_ isByFolder: Bool) throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        try makeDirectory(sources.path("trip"))
        for number in 0..<(isByFolder ? 40 : 3) {
            try writeFile(sources.path("trip/\(number)"), "content \(number)".utf8)
        }
        let here = Surroundings(directory: sources.path)
        let first = try server.push(["trip"], here)
        let count = first.lines.count
        #expect(first.errors.hasPrefix("\(count) stored, "), "\(first.errors)")
        #expect(!first.errors.contains("there already"), "\(first.errors)")
        try writeFile(sources.path("trip/new"), "new".utf8)
        let second = try server.push(["trip"], here)
        #expect(second.lines.count == 1 && second.output.hasPrefix("committed  trip/new"), "\(second.output)")
        #expect(second.errors.hasPrefix("1 stored, 3 B in "), "\(second.errors)")
        #expect(second.errors.hasSuffix("B/s), \(count) there already\n"), "\(second.errors)")
        let third = try server.push(["trip", "-v"], here)
        #expect(third.output.contains("alreadyStored  trip"), "\(third.output)")
        #expect(third.errors.hasPrefix("0 stored, 0 B in "), "\(third.errors)")
        #expect(third.errors.hasSuffix(", \(count + 1) there already\n"), "\(third.errors)")
        #expect(try server.push(["trip/1"], to: "/trip", here).output.hasPrefix("alreadyStored  trip/1"))
        #expect(try server.push(["trip", "--json"], here).lines.count == count + 1)
    }

    @Test func whatRulesLeaveOutAndWhatIsRenamedIsCounted() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        for folder in ["trip", "trip/raw", "trip/day"] { try makeDirectory(sources.path(folder)) }
        for path in ["a.jpg", "b.txt", "c.txt", "raw/d.jpg", "day/e.txt", "day/f.jpg"] {
            try writeFile(sources.path("trip/\(path)"), path.utf8)
        }
        let here = Surroundings(directory: sources.path)
        let push = try server.push(["trip", "--exclude", "*.txt", "--exclude", "raw/"], here)
        #expect(push.errors.hasSuffix("/s), 3 files and 1 folder left out\n"), "\(push.errors)")
        #expect(server.visibleFiles == ["trip/a.jpg", "trip/day/f.jpg"])
        try writeFile(sources.path("trip/a.jpg"), "another".utf8)
        let renamed = try server.push(["trip/a.jpg", "--max-size", "7"], to: "/trip", here)
        #expect(renamed.errors.hasSuffix("/s), 1 under another name\n"), "\(renamed.errors)")
        let none = try server.push(["trip/a.jpg", "--max-size", "6"], here)
        #expect(none.end == .exited(0) && none.errors.contains("1 file left out"), "\(none.errors)")
    }

    @Test func quietSaysNothingUnlessSomethingFails() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--quiet"])
        #expect(push.end == .exited(0) && push.output == "" && push.errors == "")
        let failed = try server.push([photo, "/nonexistent", "-q"])
        #expect(failed.end == .exited(1) && failed.output == "")
        #expect(failed.errors == "sourceUnreadable  /nonexistent: There is no such file or directory.\n")
    }

    @Test func namesThatCouldSteerATerminalAreEscaped() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        let name = "a\nb\u{1B}[31mc\u{202E}d"
        try writeFile(sources.path(name), [1])
        let push = try server.push([name], Surroundings(directory: sources.path))
        #expect(push.end == .exited(0))
        #expect(push.output.hasPrefix("committed  a\\nb\\u{1b}[31mc\\u{202e}d  1 B  xxh128:"))
        #expect(push.lines.count == 1)
        #expect(server.visibleFiles == [name])
        try server.program.waitForError("committed a\\nb\\u{1b}[31mc\\u{202e}d, 1 bytes")
        #expect(!server.program.errorText.contains("\u{1B}"))
        let object = try server.push([name, "--json"], Surroundings(directory: sources.path)).object()
        #expect(object["storedPath"] == "a\\nb\\u001b[31mc\\u202ed")
    }

    /// A reader such as `head -1` closes the pipe before it has read all of the output.
    @Test func aReaderThatGoesIsNoFailure() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        let count = 300
        for number in 0..<count { try writeFile(sources.path("\(number)"), "content \(number)".utf8) }
        let push = try server.push([sources.path, "--json"], to: "/all", Surroundings(output: .brokenPipe))
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(push.errors.hasPrefix("\(count) stored, "))
        #expect(server.visibleFiles.count == count)
    }

    @Test func resultsThatCannotBeWrittenAreAFailure() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--json"], Surroundings(output: .file("/dev/full")))
        #expect(push.end == .exited(1))
        #expect(push.errors.contains("cannot write the results to standard output: No space left on device"))
        #expect(server.visibleFiles == ["demo.png"])
    }

    /// Without care, the socket would get the descriptor number of a standard stream and receive the results.
    @Test(arguments: 0..<8) func closedStreamsAreNoFailure(_ which: Int) throws {
        let server = try RunningServer()
        let closed = Surroundings(
            input: which & 1 == 0 ? .file("/dev/null") : .closed, output: which & 2 == 0 ? .pipe : .closed,
            errors: which & 4 == 0 ? .pipe : .closed)
        #expect(try server.push([photo, "--json"], closed).end == .exited(0))
        #expect(try server.stored("demo.png") == readFile(photo))
    }

    @Test func closedInputIsNoEmptyFile() throws {
        let server = try RunningServer()
        let push = try server.push(["-", "--name", "nothing", "--json"], Surroundings(input: .closed))
        #expect(push.end == .exited(1))
        #expect(try push.object()["result"] == "sourceUnreadable")
        #expect(server.visibleFiles.isEmpty)
    }

    @Test func needsNoEnvironmentAtAll() throws {
        let server = try RunningServer([], Surroundings(environment: [:]))
        #expect(try server.push([photo], Surroundings(environment: [:])).end == .exited(0))
        #expect(server.visibleFiles == ["demo.png"])
    }
}
