import Glibc
import Testing
import TransferTestSupport

/// Pushes to a server that is not running yet.
@Suite(.ownThreads) struct FirstConnectionTests {
    @Test func isTriedAgainWhereSomebodyAsksForIt() throws {
        let peer = try FakeServer()
        let address = peer.address
        peer.close()
        let push = try Program(["push", photo, "--plaintext", "--to", address, "--retry-for", "10m"])
        try push.waitForError("not connected: Connection refused; trying again ")
        let server = try RunningServer(at: address)
        #expect(try push.wait() == .exited(0), "\(push.errorText)")
        #expect(server.visibleFiles == ["demo.png"])
    }

    /// A wrong address is reported at once.
    @Test func isTriedOnceOtherwise() throws {
        let peer = try FakeServer()
        peer.refuse()
        let push = try Finished(["push", photo, "--plaintext", "--to", peer.address])
        #expect(push.end == .exited(3) && !push.errors.contains("trying again"), "\(push.errors)")
        #expect(push.errors.contains(" It was tried once, and nothing was sent. "), "\(push.errors)")
    }

    @Test func isGivenUpInTheEnd() throws {
        let peer = try FakeServer()
        peer.refuse()
        let push = try Finished(["push", photo, "--plaintext", "--to", peer.address, "--retry-for", "1500ms"])
        #expect(push.end == .exited(3))
        // On a busy machine the attempts can take longer than the limit.
        let sentence = /Connection refused\. It was tried for \d+ seconds?, and nothing was sent\. Check whether/
        #expect(push.errors.contains(sentence), "\(push.errors)")
    }

    /// A peer accepts the connection and stays silent: one attempt may not exceed the limit for all attempts.
    @Test(arguments: [["push", photo, "--to"], ["list", "--from"], ["watch", "--once", "card", "--to"]])
    func aSilentServerIsGivenUpInTime(_ words: [String]) throws {
        let (peer, card) = (try FakeServer(), try WatchedFolder(["a"]))
        let flags = [peer.address, "--plaintext", "--retry-for", "2s"]
        let command = try Finished(words + flags, card.surroundings)
        #expect(command.end == .exited(3), "\(command.errors)")
        // The time that the last attempt had. Without the limit it would be at least three seconds.
        let attempt = try #require(
            command.errors.firstMatch(of: /The handshake was not finished within ([\d.]+) seconds/))
        #expect(Double(attempt.1) ?? 3 <= 2, "\(command.errors)")
        #expect(!command.errors.contains(".;") && !command.errors.contains("tried again for"), "\(command.errors)")
    }

    @Test func requestsToo() throws {
        let peer = try FakeServer()
        let address = peer.address
        peer.close()
        let list = try Program(["list", "--plaintext", "--from", address, "--retry-for", "10m"])
        let server = try RunningServer(at: address)
        #expect(try list.wait() == .exited(0), "\(list.errorText) \(server.address)")
    }
}
