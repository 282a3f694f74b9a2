import Testing
import TransferHTTP
import TransferTestSupport

/// `transfer push` to a server that knows only PUT, and to a Transfer server.
@Suite(.ownThreads) struct PutPushTests {
    private func push(_ arguments: [String], to server: HTTPServer) throws -> Finished {
        try Finished(["push", "--json", "--to", server.url + "/in box"] + arguments)
    }

    @Test func puts() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        let push = try push([photo, "--text", "hello"], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(files.files.keys.sorted() == ["/in%20box/demo.png", "/in%20box/text.txt"])
        #expect(try files.files["/in%20box/demo.png"] == readFile(photo))
        let objects = try push.objects()
        #expect(
            objects.allSatisfy { $0["result"] == "stored" && $0["verified"] == "false" && $0["durable"] == "false" })
        #expect(objects.allSatisfy { $0["message"]?.contains("201 Created") ?? false })
        let heads = files.heads.filter { $0.method == .put }
        #expect(heads.allSatisfy { $0.fields.has("repr-digest") && $0.fields.has("if-none-match") })
    }

    /// A URL can stand where other operands stand; the output does not repeat its password.
    @Test func aURLIsAPlaceToPushTo() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        let push = try Finished(["push", photo, server.url + "/box"])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(files.files.keys.sorted() == ["/box/demo.png"])
        let pull = try Finished(["pull", "http://me:secret@127.0.0.1/x", "d"])
        #expect(pull.end == .exited(2) && pull.errors.contains("only push works over HTTP"), "\(pull.errors)")
        #expect(!pull.errors.contains("secret"))
    }

    /// The client sends `Expect: 100-continue` first and waits for the answer.
    @Test func longFiles() throws {
        let home = try TemporaryDirectory()
        let files = PutService()
        let server = try HTTPServer(files)
        let long = randomBytes(9_000_001, seed: 4)
        try writeFile(home.path("long"), long)
        let push = try push([home.path("long")], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(files.files["/in%20box/long"] == long)
        #expect(files.heads.contains { $0.expectsContinue })
    }

    /// More bytes than the socket buffers hold, so a server that reads nothing cannot have received the file.
    private static let unread = 40_000_000

    /// A success status that arrives before the content has been sent does not count.
    @Test(arguments: [200, 201, 204]) func answersThatComeTooEarly(_ status: Int) throws {
        let home = try TemporaryDirectory()
        let files = PutService()
        let server = try HTTPServer(files)
        files.beEarly(HTTPServer.Answer(status))
        try writeFile(home.path("long"), randomBytes(Self.unread, seed: 8))
        let push = try push([home.path("long")], to: server)
        #expect(push.end == .exited(6), "\(push.errors)")
        #expect(try push.object()["result"] == "unacknowledged" && files.files.isEmpty)
    }

    /// The client does not wait forever for a server that sends only interim answers.
    @Test(arguments: [100, 102, 104]) func interimAnswersWithoutEnd(_ status: Int) throws {
        let home = try TemporaryDirectory()
        let files = PutService()
        let server = try HTTPServer(files)
        var answer = HTTPServer.Answer(status)
        answer.count = 2000
        files.beEarly(answer)
        try writeFile(home.path("long"), randomBytes(Self.unread, seed: 8))
        let push = try push([home.path("long")], to: server)
        #expect(push.end != .exited(0) && push.errors.contains("too often"), "\(push.errors)")
    }

    @Test func streams() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        let bytes = randomBytes(5_000_000, seed: 5)
        var surroundings = Surroundings()
        surroundings.input = .pipe
        let program = try Program(["push", "-", "--name", "s", "--to", server.url], surroundings)
        try program.write(bytes)
        program.closeInput()
        let push = try Finished(program)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(files.files == ["/s": bytes])
    }

    @Test func namesThatAreTaken() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        files.store("/in%20box/text.txt", [1])
        let both = try push(["--text", "hello"], to: server)
        #expect(both.end == .exited(0) && files.files["/in%20box/text-1.txt"] == Array("hello".utf8), "\(both.errors)")
        let skip = try push(["--text", "hello", "--on-conflict", "skip"], to: server)
        #expect(try skip.end == .exited(0) && skip.object()["result"] == "skipped", "\(skip.errors)")
        let fail = try push(["--text", "hello", "--on-conflict", "fail"], to: server)
        #expect(try fail.end == .exited(1) && fail.object()["result"] == "pathConflict", "\(fail.errors)")
        #expect(files.files["/in%20box/text.txt"] == [1])
        let over = try push(["--text", "hello", "--on-conflict", "overwrite"], to: server)
        #expect(over.end == .exited(0) && files.files["/in%20box/text.txt"] == Array("hello".utf8), "\(over.errors)")
    }

    @Test func goesOnAfterALostConnection() throws {
        let home = try TemporaryDirectory()
        let files = PutService()
        let server = try HTTPServer(files)
        server.cut(after: [1_000_000, 2])
        let long = randomBytes(3_000_000, seed: 6)
        try writeFile(home.path("long"), long)
        let push = try push([home.path("long")], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(files.files == ["/in%20box/long": long])
    }

    /// After a lost answer, the client does not store the file again under another name.
    @Test func aLostAnswer() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        files.instead { [unowned files] request in
            _ = files.usual(request)
            return nil
        }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(6), "\(push.errors)")
        #expect(files.files.keys.sorted() == ["/in%20box/text.txt"])
    }

    @Test func connectionsThatEndInOrder() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        for _ in 0..<3 {
            files.instead { [unowned files] request in
                var answer = files.usual(request)
                answer.closes = true
                return answer
            }
        }
        let push = try Finished(["push", "--to", server.url, photo, "--text", "a", "--on-conflict", "overwrite"])
        #expect(push.end == .exited(0) && !push.errors.contains("lost"), "\(push.errors)")
    }

    @Test(arguments: [(202, "unacknowledged", 6), (507, "insufficientStorage", 1), (405, "unsuitable", 1)])
    func whatIsNoSuccess(_ status: Int, _ result: String, _ code: Int32) throws {
        let files = PutService()
        let server = try HTTPServer(files)
        files.instead { _ in HTTPServer.Answer(status) }
        let push = try push(["--text", "hello"], to: server)
        #expect(try push.end == .exited(code) && push.object()["result"] == result, "\(push.errors)")
    }

    /// A claim of success with another digest is an error.
    @Test func anotherDigest() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        let other = DigestField(sha256: [UInt8](repeating: 1, count: 32)).text
        files.instead { _ in
            HTTPServer.Answer(201, [("Transfer-Result", "committed"), ("Repr-Digest", other)])
        }
        let push = try push(["--text", "hello"], to: server)
        #expect(try push.end == .exited(1) && push.object()["result"] == "digestMismatch", "\(push.errors)")
    }

    /// A `Transfer-Result` without a digest proves nothing, so the file counts as stored and not as verified.
    @Test func aClaimWithoutADigest() throws {
        let files = PutService()
        let server = try HTTPServer(files)
        files.instead { _ in HTTPServer.Answer(201, [("Transfer-Result", "committed")]) }
        let object = try push(["--text", "hello"], to: server).object()
        #expect(object["result"] == "stored" && object["verified"] == "false")
    }

    // MARK: Our own server

    @Test func ourOwnServerSaysWhatItHas() throws {
        let server = try RunningServer(["--http", "on"])
        let url = "http://\(server.address)/in/"
        for result in ["committed", "alreadyStored"] {
            let push = try Finished(["push", "--json", "--to", url, photo])
            #expect(push.end == .exited(0), "\(push.errors)")
            let object = try push.object()
            #expect(object["result"] == result && object["verified"] == "true" && object["durable"] == "true")
            #expect(object["storedPath"] == "in/demo.png")
        }
        #expect(server.visibleFiles == ["in/demo.png"])
        let text = try Finished(["push", "--json", "--to", url, "--text", "x", "--name", "demo.png"])
        #expect(try text.object()["storedPath"] == "in/demo-1.png")
        let fail = try Finished(
            ["push", "--json", "--to", url, "--text", "y", "--name", "demo.png", "--on-conflict", "fail"])
        #expect(try fail.end == .exited(1) && fail.object()["result"] == "pathConflict", "\(fail.output)")
    }

    @Test func withACertificateAndAToken() throws {
        let home = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: home.path("authority.pem"))
        let (certificate, key) = (home.path("cert.pem"), home.path("key.pem"))
        try authority.issue("DNS:localhost,IP:127.0.0.1", to: certificate, key: key)
        let server = try SecureServer(["--http", "on", "--cert", certificate, "--key", key])
        let push = ["push", "--json", "--text", "hello", "--to", "https://\(server.address)/"]
        let trusting = server.surroundings(["SSL_CERT_FILE": authority.path])
        let good = try Finished(push, trusting)
        #expect(try good.end == .exited(0) && good.object()["result"] == "committed", "\(good.errors)")
        let unknown = try Finished(push, server.surroundings())
        #expect(unknown.end == .exited(4) && unknown.errors.contains("is not known here"), "\(unknown.errors)")
        let pinned = try Finished(push + ["--server-key", server.fingerprint], server.surroundings())
        #expect(pinned.end == .exited(0), "\(pinned.errors)")
    }

    /// The client verifies the server by its Transfer identity, and the server admits the client by a token.
    @Test func aServerThatIsTrusted() throws {
        let server = try SecureServer(["--http", "on"], user: "operator")
        let push = ["push", "--json", "--text", "hello", "--to", "https://\(server.address)/"]
        let refused = try Finished(push + ["--trust-new"], server.surroundings())
        #expect(refused.end == .exited(4), "\(refused.errors)")
        let token = try server.access(["token", "create", "--name", "laptop"]).output.split(separator: "\n").last ?? ""
        let welcome = try Finished(push, server.surroundings(["TRANSFER_TOKEN": String(token)]))
        #expect(welcome.end == .exited(0), "\(welcome.errors)")
        #expect(!welcome.errors.contains(token) && !welcome.output.contains(token))
        // The client trusts the identity: it knows the server over every protocol and with every certificate.
        let own = try Finished(
            ["push", "--text", "hello", "--to", server.address], server.surroundings(["TRANSFER_TOKEN": String(token)]))
        #expect(own.end == .exited(0), "\(own.errors)")
        let other = try SecureServer(["--http", "on"], user: "operator")
        let wrong = try Finished(
            ["push", "--text", "x", "--to", "https://\(other.address)/", "--server-key", server.fingerprint],
            other.surroundings())
        #expect(wrong.end == .exited(4), "\(wrong.errors)")
    }

    @Test(arguments: [
        (["--receipts", "r"], "--receipts cannot be used over HTTP"), (["--seal"], "--seal cannot be used over HTTP"),
        (["--for", "bob"], "--for cannot be used over HTTP"), (["--lanes", "2"], "--lanes cannot be used over HTTP"),
        (["--compress", "zlib"], "--compress cannot be used over HTTP"),
        (["--delete-source"], "--delete-source cannot be used"),
        (["--plaintext"], "drop --plaintext"),
    ])
    func whatContradicts(_ arguments: [String], _ message: String) throws {
        let finished = try Finished(["push", photo, "--to", "https://localhost/"] + arguments)
        #expect(finished.end == .exited(2) && finished.output == "")
        #expect(finished.errors.contains(message), "\(finished.errors)")
    }

    @Test(arguments: [
        ("http://192.0.2.1/", "push with --plaintext"), ("https://me:secret@h/?q", "is not a URL to push to"),
        ("http://me:secret@localhost/", "could use the password"),
    ])
    func urlsThatAreRefused(_ url: String, _ message: String) throws {
        let finished = try Finished(["push", photo, "--to", url])
        #expect(finished.end == .exited(2) && finished.errors.contains(message), "\(finished.errors)")
        #expect(!finished.errors.contains("secret"))
        let listed = try Finished(["list", "--from", "https://localhost/"])
        #expect(listed.end == .exited(2) && listed.errors.contains("only push works"), "\(listed.errors)")
    }

    @Test func byTheNameOfARemote() throws {
        let home = try TemporaryDirectory()
        let files = PutService()
        let server = try HTTPServer(files)
        var surroundings = Surroundings()
        surroundings.environment["XDG_CONFIG_HOME"] = home.path("config")
        let added = try Finished(["remote", "add", "web", server.url + "/a/"], surroundings)
        #expect(added.end == .exited(0), "\(added.errors)")
        let push = try Finished(["push", "--text", "hello", "--to", "web:/b"], surroundings)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(files.files.keys.sorted() == ["/a/b/text.txt"])
    }
}
