import Testing
import TransferTestSupport

/// The live line on a terminal.
@Suite(.ownThreads) struct ProgressTests {
    private static let eraseToEnd = "\u{1B}[K"

    @Test func isDrawnAndTakenAway() throws {
        let server = try RunningServer()
        let push = try startPush(server, terminal: "xterm")
        try server.program.waitForError("started in.bin")
        try push.waitForError("in.bin") { $0.contains(Self.eraseToEnd) }
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        #expect(push.outputText.hasPrefix("committed  in.bin  5.2 MB  "))
        // Each drawing starts at the left edge and erases the one before; the last drawing only erases.
        let drawings = push.errorText.split(separator: "\r", omittingEmptySubsequences: false)
        #expect(drawings.contains { $0.hasPrefix("in.bin  ") && $0.hasSuffix(Self.eraseToEnd) })
        let erased = try #require(drawings.lastIndex { $0.hasPrefix(Self.eraseToEnd) })
        let rest = drawings[erased].dropFirst(Self.eraseToEnd.count)
        #expect(rest.hasPrefix("1 stored, 5.2 MB in ") && !rest.contains(Self.eraseToEnd))
        #expect(drawings[(erased + 1)...].allSatisfy { $0 == "\n" }, "a terminal ends lines with both")
        for drawing in drawings[..<erased] { #expect(drawing.count <= 40 + Self.eraseToEnd.count) }
    }

    @Test(arguments: ["dumb", nil]) func notOnATerminalThatCannot(_ terminal: String?) throws {
        let server = try RunningServer()
        let push = try startPush(server, terminal: terminal)
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        #expect(!push.errorText.contains("\u{1B}"))
        #expect(push.errorText.hasPrefix("1 stored, ") && push.errorText.hasSuffix("\r\n"))
        #expect(push.errorText.count { $0.isNewline } == 1)
    }

    @Test func notWhenQuiet() throws {
        let server = try RunningServer()
        let push = try startPush(server, terminal: "xterm", "--quiet")
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        #expect(push.errorText == "")
    }

    @Test func notInAFile() throws {
        let server = try RunningServer()
        let push = try server.push([photo], Surroundings(environment: ["TERM": "xterm"]))
        #expect(push.end == .exited(0))
        #expect(!push.errors.contains("\r") && !push.errors.contains("\u{1B}"))
    }

    private func startPush(_ server: RunningServer, terminal: String?, _ flags: String...) throws -> Program {
        var surroundings = Surroundings(input: .pipe, errors: .terminal(columns: 40))
        surroundings.environment["TERM"] = terminal
        let push = try server.startPush(["-", "--name", "in.bin"] + flags, surroundings)
        try push.write(randomBytes(5 << 20, seed: 8))
        return push
    }
}
