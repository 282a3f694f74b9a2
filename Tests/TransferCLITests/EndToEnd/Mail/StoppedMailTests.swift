import Glibc
import Testing
import TransferTestSupport

/// Ctrl-C for commands that wait for other people.
@Suite(.ownThreads) struct StoppedMailTests {
    /// What was sent stays sent; only the waiting ends.
    @Test func whileItIsNotDelivered() throws {
        let mail = try MailServer()
        let push = try mail.start(
            ["push", "--for", "bob", "--text", "x", "--name", "note", "--wait-delivered=10m"], as: "alice")
        try push.waitForError("1 stored, ")
        push.signal(SIGINT)
        let finished = try Finished(push)
        #expect(finished.end == .killed(by: SIGINT))
        let sentence = "1 delivery is not confirmed yet; 'transfer sent' shows their state\n"
        #expect(finished.errors.hasSuffix(sentence), "\(finished.errors)")
        #expect(try mail.stored.count == 1)
    }

    /// The server is suspended while the second delivery is on its way.
    @Test func betweenTwoDeliveries() throws {
        let people = try Correspondence()
        try writeFile(people.file("a.txt"), "a secret".utf8)
        try people.send(["a.txt"], [])
        try writeFile(people.file("long"), randomBytes(96 << 20, seed: 3))
        try people.send(["long"], [])
        let (program, fifo) = (people.server.home.path("program"), people.server.home.path("fifo"))
        #expect(mkfifo(fifo, 0o600) == 0)
        try writeFile(program, "#!/bin/sh\necho started >&2\nread line <'\(fifo)'\n".utf8)
        #expect(chmod(program, 0o755) == 0)
        let receive = try people.start("bob", ["receive", people.inbox, "--exec", program])
        try receive.waitForError("started")
        let worker = try #require(people.server.program.worker)
        kill(worker, SIGSTOP)
        defer { kill(worker, SIGCONT) }
        receive.signal(SIGINT)
        try writeFile(fifo, "\n".utf8)
        let finished = try Finished(receive)
        #expect(finished.end == .killed(by: SIGINT) && finished.lines.count == 1, "\(finished.output)")
        let sentence = "\ntransfer: The receive was stopped. 1 delivery (8 B) is here; to go on: "
        #expect(finished.errors.contains(sentence), "\(finished.errors)")
        #expect(people.received.filter { !$0.hasPrefix(".") } == ["a.txt"])
    }
}
