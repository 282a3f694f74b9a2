import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct StandardInputTests {
    @Test(arguments: [0, 1, 65_536, 4 << 20, (9 << 20) + 3]) func arrivesWhole(_ size: Int) throws {
        let server = try RunningServer()
        let content = randomBytes(size, seed: UInt64(size))
        let push = try server.startPush(["-", "--name", "deep/in.bin", "--json"], Surroundings(input: .pipe))
        try push.write(content)
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        let object = try finished.object()
        #expect(object["source"] == "deep/in.bin" && object["storedPath"] == "deep/in.bin")
        #expect(object["size"] == "\(size)" && object["result"] == "committed" && object["durable"] == "true")
        #expect(object["digest"]?.hasPrefix(size > 4 << 20 ? "xxh128-tree-4m:" : "xxh128:") == true)
        #expect(try server.stored("deep/in.bin") == content)
    }

    /// bash passes the path of a pipe that is already open.
    @Test func aProcessSubstitution() throws {
        let server = try RunningServer()
        let script = "exec \"$0\" push <(seq 1 200000) --name numbers.txt --plaintext --to \"$1\""
        let bash = Surroundings(executable: "/bin/bash")
        let push = try Finished(["-c", script, try Spawner.executable(), server.address], bash)
        #expect(push.end == .exited(0), "\(push.errors)")
        let numbers = (1...200_000).map { "\($0)\n" }.joined()
        #expect(try server.stored("numbers.txt") == Array(numbers.utf8))
        let nameless = try Finished(["-c", "exec \"$0\" push <(true)", try Spawner.executable()], bash)
        #expect(nameless.end == .exited(2))
        #expect(nameless.errors.contains("' is a pipe, which needs a name; use --name"), "\(nameless.errors)")
    }

    /// A path that is not an open descriptor of this process, or not a pipe, is an ordinary path.
    @Test(arguments: ["/dev/fd/", "/dev/fd/x", "/dev/fd/-1", "/dev/fd/99999999999", "/dev/fd/987", "/dev/stdin"])
    func whatIsNoStream(_ path: String) throws {
        let plan = try Finished(["push", path, "--dry-run"], Surroundings(input: .file("/dev/null")))
        #expect(!plan.errors.contains("needs a name"), "\(plan.errors)")
    }

    @Test func inPiecesFromASlowWriter() throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "slow.txt"], Surroundings(input: .pipe))
        for piece in ["one", ", two", ", three"] { try push.write(piece.utf8) }
        #expect(server.visibleFiles.isEmpty)
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        #expect(try server.stored("slow.txt") == Array("one, two, three".utf8))
    }

    /// A server that is stopping takes no further block, and the next server continues with the stored blocks.
    @Test func aServerThatStopsInTheMiddle() throws {
        let content = randomBytes((21 << 20) + 3, seed: 71)
        var server = try RunningServer()
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(content[..<(9 << 20)])
        try server.program.waitForError("started in.bin")
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
        server = try RunningServer(in: server.home, at: server.address)
        try finish(push, with: content[(9 << 20)...])
        #expect(try server.stored("in.bin") == content)
        #expect(server.leftovers.isEmpty)
    }

    /// A client that pauses for long loses the connection, but no data.
    @Test func aWriterThatPausesForLong() throws {
        let content = randomBytes((13 << 20) + 3, seed: 72)
        let server = try RunningServer(["--idle-timeout", "1s"])
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(content[..<(9 << 20)])
        try server.program.waitForError("was not used within")
        try finish(push, with: content[(9 << 20)...])
        #expect(try server.stored("in.bin") == content)
        #expect(server.leftovers.isEmpty)
    }

    @Test func fromAFile() throws {
        let server = try RunningServer()
        let push = try server.push(["-", "--name", "p.png", "--json"], Surroundings(input: .file(photo)))
        #expect(try push.object()["kind"] == "picture")
        #expect(try server.stored("p.png") == readFile(photo))
    }

    @Test func aDirectoryCannotBeRead() throws {
        let server = try RunningServer()
        let push = try server.push(["-", "--name", "p", "--json"], Surroundings(input: .file("/tmp")))
        #expect(push.end == .exited(1))
        #expect(try push.object()["result"] == "sourceUnreadable")
        #expect(server.visibleFiles.isEmpty)
    }

    /// Writes the rest of the input; the push must then succeed.
    private func finish(_ push: Program, with rest: ArraySlice<UInt8>) throws {
        try push.write(rest)
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
    }
}
