import Glibc
import Testing
import TransferTestSupport

/// The test kills one side in the middle of an upload, so that this side can do nothing about it.
@Suite(.ownThreads) struct CrashTests {
    /// The second server finds only what the first one left on disk, and the stream cannot be read again.
    @Test(arguments: [1, 3]) func aStreamGoesOnAtTheNextServer(_ crashes: Int) throws {
        let content = randomBytes((30 << 20) + 5, seed: 3)
        var server = try RunningServer()
        let push = try server.startPush(["-", "--name", "in.bin", "--json"], Surroundings(input: .pipe))
        var rest = content[...]
        for crash in 0..<crashes {
            try push.write(rest.prefix(9 << 20))
            rest = rest.dropFirst(9 << 20)
            if crash == 0 { try server.program.waitForError("started in.bin, size unknown") }
            if crash > 0 { try server.program.waitForError("in.bin") }
            server = try server.restarted()
        }
        try push.write(rest)
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(finished.errors.contains("connection lost: "))
        #expect(try finished.object()["result"] == "committed")
        try expectExactlyOnce(server, "in.bin", content)
    }

    @Test func aFileIsSentAgainToTheNextServer() throws {
        let sources = try TemporaryDirectory()
        // The size that is large enough to be interrupted depends on the machine.
        for size in [32 << 20, 128 << 20, 512 << 20] {
            let content = randomBytes(size, seed: UInt64(size))
            try writeFile(sources.path("big"), content)
            var server = try RunningServer()
            let push = try server.startPush([sources.path("big"), photo, "--json"])
            try server.program.waitForError("started big, \(size) bytes")
            server = try server.restarted()
            let finished = try Finished(push)
            #expect(finished.end == .exited(0), "\(finished.errors)")
            #expect(
                try finished.objects().map { $0["storedPath"] }.sorted { $0 ?? "" < $1 ?? "" } == ["big", "demo.png"])
            guard server.program.errorText.contains("1 unfinished uploads take ") else { continue }
            #expect(try server.stored("demo.png") == readFile(photo))
            unlink("\(server.directory)/demo.png")
            return try expectExactlyOnce(server, "big", content)
        }
        Issue.record("no upload was caught in the middle")
    }

    @Test func aDeadClientLeavesNothingToSee() throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(randomBytes(5 << 20, seed: 4))
        try server.program.waitForError("started in.bin, ")
        #expect(server.visibleFiles.isEmpty)
        push.signal(SIGKILL)
        #expect(try push.wait() == .killed(by: SIGKILL))
        #expect(server.visibleFiles.isEmpty)
        #expect(try server.push([photo]).end == .exited(0))
        #expect(server.visibleFiles == ["demo.png"])
    }

    private func expectExactlyOnce(_ server: RunningServer, _ path: String, _ content: [UInt8]) throws {
        #expect(server.visibleFiles == [path])
        #expect(try server.stored(path) == content)
    }
}
