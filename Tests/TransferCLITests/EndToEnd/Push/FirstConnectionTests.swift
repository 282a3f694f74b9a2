import Glibc
import Testing
import TransferTestSupport

/// A server that is not there yet.
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

    /// So that a wrong address is told at once.
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
        // A busy machine gives it more time than it was told to take.
        let sentence = /Connection refused\. It was tried for \d+ seconds?, and nothing was sent\. Look whether/
        #expect(push.errors.contains(sentence), "\(push.errors)")
    }

    /// Somebody takes the connection and says nothing: no attempt takes longer than all of them may.
    @Test(arguments: [["push", photo, "--to"], ["list", "--from"], ["watch", "--once", "card", "--to"]])
    func aSilentServerIsGivenUpInTime(_ words: [String]) throws {
        let (peer, card) = (try FakeServer(), try WatchedFolder(["a"]))
        let flags = [peer.address, "--plaintext", "--retry-for", "2s"]
        let command = try Finished(words + flags, card.surroundings)
        #expect(command.end == .exited(3), "\(command.errors)")
        // The time that the last attempt had. The least that there was without a bound is three seconds.
        let attempt = try #require(command.errors.firstMatch(of: /The handshake was not done within ([\d.]+) seconds/))
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
