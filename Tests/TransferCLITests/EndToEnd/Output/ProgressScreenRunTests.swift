import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferCLI

/// Pushes of several files on a terminal.
@Suite(.ownThreads) struct ProgressScreenRunTests {
    /// A finished push leaves a line for each file, and a summary.
    @Test(arguments: [200, 80, 40]) func leavesOneLineForEachFile(_ columns: UInt16) throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a", "長い名前", "cafe\u{301}", "d"])
        try writeFile(files.home.path("long"), randomBytes(20 << 20, seed: 4))
        var surroundings = files.here
        surroundings.environment["TERM"] = "xterm"
        surroundings.errors = .terminal(columns: columns)
        surroundings.output = .joined
        let names = ["a", "長い名前", "cafe\u{301}", "d", "long"]
        let push = try server.startPush(names + ["--lanes", "2"], surroundings)
        #expect(try push.wait() == .exited(0), "\(push.errorText)")
        var screen = TerminalScreen(columns: Int(columns))
        screen.write(push.errorText)
        let lines = screen.text
        #expect(screen.unknown.isEmpty && lines.count == names.count + 1, "\(lines)")
        let stored = lines.dropLast().map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(stored.sorted() == names.map { "committed \($0)" }.sorted())
        // Each line fits one row, with the digest if it has room.
        #expect(screen.widest <= columns, "\(lines)")
        #expect(lines.dropLast().allSatisfy { $0.contains("xxh128") == (columns > 40) }, "\(lines)")
        #expect(lines.last?.hasPrefix("5 stored, 21.0 MB in ") ?? false)
        // The word is green on a terminal with colors.
        #expect(push.errorText.contains("\u{1B}[32mcommitted\u{1B}[0m"))
    }

    /// A pull prints many lines at once, and the progress stays below them.
    @Test(arguments: [200, 80, 40]) func aPullToo(_ columns: UInt16) throws {
        let server = try RunningServer()
        let names = (0..<300).map { "in/file-\($0)" }
        let files = try BatchFiles(names)
        try writeFile(files.home.path("in/long"), randomBytes(20 << 20, seed: 4))
        #expect(try files.push(server, "in").end == .exited(0))
        var surroundings = files.here
        surroundings.environment["TERM"] = "xterm"
        surroundings.errors = .terminal(columns: columns)
        surroundings.output = .joined
        let arguments = ["pull", "in", "nothing", "-o", "out", "--plaintext", "--from", server.address]
        let pull = try Program(arguments, surroundings)
        #expect(try pull.wait() == .exited(1), "\(pull.errorText)")
        var screen = TerminalScreen(columns: Int(columns))
        screen.write(pull.errorText)
        let lines = screen.text
        #expect(screen.unknown.isEmpty && lines.count == names.count + 3, "\(lines)")
        let stored = lines.filter { $0.hasPrefix("committed  in/") && $0.contains("xxh128") == (columns >= 80) }
        #expect(stored.count == names.count + 1, "\(lines)")
        #expect(pull.errorText.contains("\u{1B}[32mcommitted\u{1B}[0m"))
        // The totals are known before the files have arrived.
        #expect(pull.errorText.contains(" of 302 files"))
        #expect(lines.count { $0.hasPrefix("notFound  nothing: ") } == 1)
        #expect(lines.last?.hasPrefix("301 fetched, ") ?? false)
    }

    /// Each drawing fits the terminal's width at that time.
    @Test func afterAResize() throws {
        let peer = try FakeServer()
        let files = try BatchFiles([])
        for name in ["first file", "second file"] {
            try writeFile(files.home.path(name), randomBytes(1 << 20, seed: 4))
        }
        var surroundings = files.here
        surroundings.environment["TERM"] = "xterm"
        surroundings.errors = .terminal(columns: 200)
        let arguments = ["push", "first file", "second file", "--plaintext", "--to", peer.address, "--lanes", "1"]
        let push = try Program(arguments, surroundings)
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        let uploads = try connection.uploads(2)
        for (id, end) in uploads { try connection.send(.received(Received(id: id, bytes: end.size / 4))) }
        try push.waitForError("0 of 2 files  25 %") { $0.contains("second file  25 %  0.3 of 1.0 MB") }
        let before = push.errorText
        try push.resize(columns: 30)
        try connection.send(.received(Received(id: uploads[0].id, bytes: uploads[0].end.size)))
        // Thirty columns have no room for amounts.
        try push.waitForError("first file   committing") { $0.contains("second file  25 %\u{1B}[K") }
        var screen = TerminalScreen(columns: 200)
        screen.write(before)
        screen.resize(columns: 30)
        let (id, end) = uploads[0]
        try connection.send(
            .result(UploadResult(id: id, code: .committed, isDurable: true, size: end.size, digest: end.digest)))
        try push.waitForOutput("committed  first file")
        try connection.send(
            .result(UploadResult(id: uploads[1].id, code: .quotaExceeded, message: "It is full.")))
        #expect(try push.wait() == .exited(1))
        screen.write(String(push.errorText.dropFirst(before.count)))
        let lines = screen.text
        #expect(lines.first?.hasPrefix("quotaExceeded  second file: It is full. ") ?? false, "\(lines)")
        #expect(lines.count == 2 && lines[1].hasPrefix("1 stored, 1.0 MB in "), "\(lines)")
    }

    @Test(arguments: [
        ("xterm", "", [], true), ("xterm", "1", [], false), ("dumb", "", [], false), (nil, "", [], false),
        ("xterm", "", ["--color", "never"], false), ("dumb", "1", ["--color", "always"], true),
    ])
    func colours(_ terminal: String?, _ noColor: String, _ flags: [String], _ areThere: Bool) throws {
        let server = try RunningServer()
        var surroundings = Surroundings(errors: .terminal(columns: 80))
        surroundings.output = .joined
        surroundings.environment["TERM"] = terminal
        surroundings.environment["NO_COLOR"] = noColor
        let push = try server.startPush([photo, "/nonexistent", "--progress", "none"] + flags, surroundings)
        #expect(try push.wait() == .exited(1))
        #expect(push.errorText.contains("\u{1B}[32mcommitted\u{1B}[0m  ") == areThere, "\(push.errorText)")
        #expect(push.errorText.contains("\u{1B}[31msourceUnreadable\u{1B}[0m  ") == areThere)
        #expect(push.errorText.contains("\u{1B}") == areThere)
    }

    @Test func linesForLogs() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--text", "a", "--progress", "plain"])
        #expect(push.end == .exited(0))
        let lines = push.errors.split(separator: "\n")
        #expect(lines.contains("connected to \(server.address)") && lines.count >= 2, "\(push.errors)")
        #expect(lines.last?.hasPrefix("2 stored, ") ?? false)
        #expect(!push.errors.contains("\r") && !push.errors.contains("\u{1B}"))
    }

    @Test func objectsForPrograms() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "/nonexistent", "-q", "--json", "--progress", "json"])
        #expect(push.end == .exited(1) && push.lines.count == 2)
        let objects = try push.errors.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) }
        #expect(objects.allSatisfy { $0["schema"] == .string("transfer.progress/1") })
        let events = objects.map { $0["event"] }
        #expect(events.contains(.string("connected")) && events.last == .string("end"))
        let end = try #require(objects.last)
        #expect(end["filesDone"] == .number("2") && end["failed"] == .number("1"))
        #expect(end["bytesDone"] == .number("\(try readFile(photo).count)") && end["files"] == .array([]))
    }

    /// With JSON progress, messages for people are objects too, so that every line is an object.
    @Test func talkForPrograms() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "/nonexistent", "--progress", "json"])
        let objects = try push.errors.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) }
        let messages = objects.filter { $0["event"] == .string("message") }.compactMap { $0["message"] }
        let failure = "sourceUnreadable  /nonexistent: There is no such file or directory."
        #expect(messages.first == .string(failure) && messages.count == 2, "\(messages)")
    }

    @Test func nothing() throws {
        let server = try RunningServer()
        var surroundings = Surroundings(errors: .terminal(columns: 80))
        surroundings.environment["TERM"] = "xterm"
        let push = try server.startPush([photo, "--progress", "none"], surroundings)
        #expect(try push.wait() == .exited(0))
        #expect(push.errorText.hasPrefix("1 stored, ") && !push.errorText.contains("\u{1B}"))
    }
}
