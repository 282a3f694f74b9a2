import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct ExitCodeTests {
    @Test func oneOfSeveralFailed() throws {
        let server = try RunningServer()
        let push = try server.push(["/nonexistent/a", photo, "--text", "b", "--json"])
        #expect(push.end == .exited(1))
        let objects = try push.objects()
        let results = Dictionary(uniqueKeysWithValues: objects.map { ($0["source"], $0["result"]) })
        #expect(results == ["/nonexistent/a": "sourceUnreadable", photo: "committed", "text.txt": "committed"])
        #expect(objects.allSatisfy { $0.keys == PushTests.keys })
        #expect(push.errors.hasSuffix(", 1 failed (1 sourceUnreadable)\n"))
        #expect(server.visibleFiles == ["demo.png", "text.txt"])
    }

    @Test(arguments: [
        (["push", "--jsn", "a"], "unknown flag '--jsn'; did you mean '--json'?"),
        (["push", "a", "--to"], "'--to' needs a value"),
        (["push", "a", "--digest", "md5"], "unknown value 'md5' for '--digest'"),
        (["push", "-"], "standard input needs a name; use --name"),
        (["push"], "nothing to push"),
        (["push", "a", "b", "--name", "c"], "--name is for a single upload"),
        (["push", "a", "--to", "ho st:http"], "'ho st:http' is not a server"),
        (["push", "a", "--retry-for", "soon"], "'soon' is not a duration"),
        (["pusj"], "unknown command 'pusj'; did you mean 'push'?"),
        ([], "no command given"),
        (["serve", "extra"], "unexpected operand 'extra'"),
        (["serve", "--listen", "host:70000"], "'host:70000' is not an address to listen on; 70000 is no port: "),
        (
            ["serve", "--listen", "99999"],
            "'99999' is not an address to listen on; 99999 is no port: those end at 65535"
        ),
        (["list", "--from", "host:70000/a"], "'host:70000/a' is not a server; 70000 is no port: those end at 65535"),
        (["list", "host:70000:/a"], "is not a server; 70000 is no port: those end at 65535"),
        (["watch", "home:/x"], "give one directory to watch, and where to send to"),
        (["receive", "home:"], "the operand is a local directory"),
        (["sync", "/dev/null", "home:/x"], "to send it, write: transfer push /dev/null home:/x"),
        (
            ["sync", "/dev/null", "--to", "home:/x"],
            "is not a folder, and sync takes only folders; 'transfer push' sends files"
        ),
        (["serve", "--listen", "5305"], "'5305' is a port without a host: --listen 127.0.0.1:5305 "),
        (["serve", "--silence-timeout", "0"], "--silence-timeout must be more than zero"),
        (["serve", "--max-upload", "much"], "'much' is not a size"),
        (["serve", "--log-level", "loud"], "unknown value 'loud'"),
        (["help", "fetch"], "unknown command 'fetch'"),
    ])
    func theCommandLineIsWrong(_ arguments: [String], _ message: String) throws {
        let finished = try Finished(arguments)
        #expect(finished.end == .exited(2) && finished.output == "")
        #expect(finished.errors.contains(message), "\(finished.errors)")
        #expect(finished.errors.contains("\nTry 'transfer "), "\(finished.errors)")
    }

    @Test func nobodyListens() throws {
        let peer = try FakeServer()
        peer.refuse()
        let push = try Finished(["push", photo, "--to", peer.address])
        #expect(push.end == .exited(3) && push.output == "")
        #expect(push.errors.hasPrefix("transfer: Cannot reach \(peer.address): Connection refused. "), "\(push.errors)")
    }

    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", " is a web server, not a Transfer server."),
        ("SSH-2.0-OpenSSH_9.9\r\n", " is an SSH server, not a Transfer server."),
        ("Guess!\r\n", " does not speak this version of Transfer: "),
    ])
    func whateverListensSpeaksAnotherLanguage(_ words: String, _ sentence: String) throws {
        let finished = try push(toServerThatSays: Array(words.utf8))
        #expect(finished.end == .exited(5) && finished.output == "")
        #expect(finished.errors.contains(sentence), "\(finished.errors)")
    }

    @Test func accessIsRefused() throws {
        var frame: [UInt8] = []
        let refusal = UploadResult(id: .none, code: .authenticationRequired, message: "Who are you?\u{1B}[2J")
        Message.result(refusal).encode(into: &frame)
        let finished = try push(toServerThatSays: frame)
        #expect(finished.end == .exited(4))
        #expect(finished.errors.contains("transfer: The server refused: Who are you?\\u{1b}[2J"), "\(finished.errors)")
    }

    /// A server may claim anything, even sizes that no file has.
    @Test func theServerCountsBeyondAllNumbers() throws {
        let peer = try FakeServer()
        var surroundings = Surroundings(errors: .terminal(columns: 80))
        surroundings.environment["TERM"] = "xterm"
        let push = try Program(
            ["push", photo, "--text", "a", "--plaintext", "--to", peer.address, "--retry-for", "0", "--json"],
            surroundings)
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        for (id, end) in try connection.uploads(2) {
            try connection.send(.received(Received(id: id, bytes: .max)))
            try connection.send(.result(UploadResult(id: id, code: .committed, size: .max, digest: end.digest)))
        }
        connection.close()
        #expect(try push.wait() == .exited(0), "\(push.errorText)")
    }

    private func push(toServerThatSays words: [UInt8]) throws -> Finished {
        let peer = try FakeServer()
        let push = try Program(["push", photo, "--plaintext", "--to", peer.address, "--retry-for", "0"])
        let connection = try peer.accept()
        try connection.send(words)
        defer { connection.close() }
        return try Finished(push)
    }
}
