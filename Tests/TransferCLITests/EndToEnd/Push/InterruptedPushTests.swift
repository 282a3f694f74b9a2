import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct InterruptedPushTests {
    /// The writer of standard input may never write again; a signal must still end the push.
    @Test(arguments: [SIGINT, SIGTERM]) func inTheMiddleOfAStream(_ signal: Int32) throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(randomBytes(5 << 20, seed: 5))
        try server.program.waitForError("started in.bin, ")
        push.signal(signal)
        let finished = try Finished(push)
        #expect(finished.end == .killed(by: signal) && finished.output == "")
        #expect(finished.errors == "transfer: The push was stopped. Nothing is acknowledged.\n", "\(finished.errors)")
        try server.program.waitForError("in.bin")
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
        #expect(server.visibleFiles.isEmpty)
    }

    @Test func beforeTheStreamGivesAnything() throws {
        let server = try RunningServer(["--log-level", "debug"])
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try server.program.waitForError("connection from ")
        push.signal(SIGINT)
        let finished = try Finished(push)
        #expect(finished.end == .killed(by: SIGINT) && finished.output == "")
        #expect(finished.errors.contains("The push was stopped."), "\(finished.errors)")
        #expect(server.visibleFiles.isEmpty)
    }

    /// Earlier acknowledgements stay valid, and the message counts them.
    @Test func betweenTwoUploads() throws {
        let peer = try FakeServer()
        let push = try Program(["push", "--plaintext", "--to", peer.address, photo, "--text", "a b"])
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        // The text may overtake the picture, because the client first asks the server about the picture.
        let (id, end) = try #require(try connection.uploads(2).first { $0.end.size > 3 })
        try connection.send(
            .result(UploadResult(id: id, code: .committed, isDurable: true, size: end.size, digest: end.digest)))
        try push.waitForOutput("committed  ")
        push.signal(SIGINT)
        let finished = try Finished(push)
        #expect(finished.end == .killed(by: SIGINT))
        #expect(finished.lines.count == 1)
        let command = "\(try Spawner.executable()) push --plaintext --to \(peer.address) \(photo) --text 'a b'"
        let sentence = "The push was stopped. 1 file (51.5 KB) is acknowledged; to go on: \(command)"
        #expect(finished.errors == "transfer: \(sentence)\n", "\(finished.errors)")
    }

    /// The server accepts the connection and never answers.
    @Test func whileTheServerSaysNothing() throws {
        let peer = try FakeServer()
        let push = try Program(["push", "--plaintext", "--to", peer.address, photo])
        let connection = try peer.accept()
        // The client asks about the picture, and waits for the answer.
        try connection.next { if case .lookup = $0 { () } else { nil } }
        push.signal(SIGINT)
        #expect(try push.wait() == .killed(by: SIGINT))
        #expect(push.errorText.hasPrefix("transfer: The push was stopped. Nothing is acknowledged; to go on: "))
    }

    /// bash ends a loop only if the command in it has died of the signal.
    @Test func aLoopOfAShellEndsToo() throws {
        let peer = try FakeServer()
        let script = "for i in 1 2; do \"$0\" push --plaintext --to \"$1\" \"$2\"; echo \"ended $?\"; done"
        let words = [try Spawner.executable(), peer.address, photo]
        let shell = try Program(["-c", script] + words, Surroundings(executable: "/bin/bash"))
        let connection = try peer.accept()
        try connection.next { if case .lookup = $0 { () } else { nil } }
        let push = try #require(try Self.child(of: shell.process))
        // A terminal sends the signal to both processes.
        shell.signal(SIGINT)
        kill(push, SIGINT)
        #expect(try shell.wait() == .killed(by: SIGINT))
        #expect(shell.outputText == "")
    }

    /// The first child process, from proc_tid_children(5).
    private static func child(of process: pid_t) throws -> pid_t? {
        let text = try String(decoding: readFile("/proc/\(process)/task/\(process)/children"), as: UTF8.self)
        return text.split(separator: " ").first.flatMap { pid_t($0) }
    }
}
