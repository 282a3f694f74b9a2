import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct InterruptedPushTests {
    /// Whoever writes to standard input may never write again; a signal must end the push nonetheless.
    @Test(arguments: [SIGINT, SIGTERM]) func inTheMiddleOfAStream(_ signal: Int32) throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(randomBytes(5 << 20, seed: 5))
        try server.program.waitForError("begun in.bin, ")
        push.signal(signal)
        let finished = try Finished(push)
        #expect(finished.end == .exited(1) && finished.output == "")
        #expect(finished.errors.contains("cancelled  in.bin: "), "\(finished.errors)")
        #expect(
            finished.errors.contains("\ntransfer: The push was stopped. Nothing is acknowledged.\n0 stored, "),
            "\(finished.errors)")
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
        #expect(finished.end == .exited(1) && finished.output == "")
        #expect(finished.errors.contains("The push was stopped."), "\(finished.errors)")
        #expect(server.visibleFiles.isEmpty)
    }

    /// What was acknowledged before stays so, and is said.
    @Test func betweenTwoUploads() throws {
        let peer = try FakeServer()
        let push = try Program(["push", "--plaintext", "--to", peer.address, photo, "--text", "a"])
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        // The text may overtake the picture, which the client asks about before.
        let (id, end) = try #require(try connection.uploads(2).first { $0.end.size > 1 })
        try connection.send(
            .result(UploadResult(id: id, code: .committed, isDurable: true, size: end.size, digest: end.digest)))
        try push.waitForOutput("committed  ")
        push.signal(SIGINT)
        let finished = try Finished(push)
        #expect(finished.end == .exited(1))
        #expect(finished.lines.count == 1)
        #expect(finished.errors.hasPrefix("cancelled  text.txt: Stopped before it was acknowledged.\n"))
        let sentence = "The push was stopped. 1 file is acknowledged; the same command goes on from there."
        #expect(finished.errors.contains("\ntransfer: \(sentence)\n1 stored, 51.5 KB in "), "\(finished.errors)")
        #expect(finished.errors.hasSuffix(", 1 failed (1 cancelled)\n"))
    }

    /// The server takes the connection and never answers.
    @Test func whileTheServerSaysNothing() throws {
        let peer = try FakeServer()
        let push = try Program(["push", "--plaintext", "--to", peer.address, photo])
        let connection = try peer.accept()
        // It asks about the picture, and waits for the answer.
        try connection.next { if case .lookup = $0 { () } else { nil } }
        push.signal(SIGINT)
        #expect(try push.wait() == .exited(1))
        #expect(push.errorText.contains("0 stored, "))
    }
}
