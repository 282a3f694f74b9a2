import Glibc
import Testing
import TransferTestSupport

/// Which clients and servers use TLS, and what happens if only one side does.
@Suite(.ownThreads) struct EncryptionTests {
    @Test func aPlaintextClientIsToldSo() throws {
        let server = try SecureServer()
        let push = try server.push(["--plaintext"])
        #expect(push.end == .exited(4))
        #expect(
            push.errors.contains(
                "The server refused: This server accepts encrypted connections only: connect with TLS, "
                    + "without --plaintext. (encryptionRequired)"), "\(push.errors)")
        #expect(server.storedFiles.isEmpty)
    }

    @Test func aClientIsToldThatTheServerTalksPlaintext() throws {
        let plain = try RunningServer()
        let push = try SecureServer().push(["--trust-new"], to: plain.address)
        #expect(push.end == .exited(4))
        let sentence =
            "The server \(plain.address) doesn't use TLS. In a network without eavesdroppers, push with --plaintext."
        #expect(push.errors.contains(sentence), "\(push.errors)")
        // --plaintext and --trust-new exclude each other, so the message offers no command to paste.
        #expect(!push.errors.contains("without encryption:"), "\(push.errors)")
        let other = try Finished(["push", photo, "--to", plain.address])
        let command = "\(try Spawner.executable()) push \(photo) --to \(plain.address) --plaintext"
        #expect(other.errors.hasSuffix("\nwithout encryption: \(command)\n"), "\(other.errors)")
    }

    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "is a web server, not a Transfer server"),
        ("220 mail.example ESMTP Postfix\r\n", "is a mail server (SMTP), not a Transfer server"),
        ("Guess!\r\n", "is not a Transfer server: it doesn't speak TLS"),
    ])
    func whateverListensSpeaksAnotherLanguage(_ words: String, _ sentence: String) throws {
        let peer = try FakeServer()
        let push = try Program(["push", photo, "--to", peer.address])
        let connection = try peer.accept()
        try connection.send(Array(words.utf8))
        let finished = try Finished(push)
        #expect(finished.end == .exited(5))
        #expect(finished.errors.contains(sentence), "\(finished.errors)")
        // Nothing was sent, so there are no messages about single files.
        #expect(finished.errors.split(separator: "\n").count == 1, "\(finished.errors)")
    }

    /// A web server with TLS does not know the client's protocol.
    @Test func whateverSpeaksAnotherLanguageInTLS() throws {
        let server = try SecureServer(["--http", "only"])
        let push = try Finished(["push", photo, "--to", server.address], server.surroundings())
        #expect(push.end == .exited(5))
        let sentence =
            "is not a Transfer server: it speaks TLS, but another protocol than Transfer, as web servers do."
        #expect(push.errors.contains(sentence), "\(push.errors)")
    }

    @Test(arguments: ["0.0.0.0:0", "[::]:0", "*:0"]) func plaintextStaysOnThisMachine(_ address: String) throws {
        let home = try TemporaryDirectory()
        let serve = try Finished(["serve", "--dir", home.path("in"), "--listen", address, "--plaintext"])
        #expect(serve.end == .exited(2) && serve.errors.contains("--allow-insecure"), "\(serve.errors)")
    }

    @Test func unlessItIsSaid() throws {
        let server = try RunningServer(["--allow-insecure"], at: "0.0.0.0:0")
        let port = server.address.split(separator: ":").last ?? ""
        #expect(try Finished(["push", photo, "--plaintext", "--to", "127.0.0.1:\(port)"]).end == .exited(0))
    }

    @Test(arguments: [
        (["serve", "--allow-insecure"], "--allow-insecure is for --plaintext"),
        (["serve", "--cert", "a"], "--cert and --key must be given together"),
        (["serve", "--plaintext", "--cert", "a", "--key", "b"], "--cert and --key are for encryption"),
        (["push", "a", "--plaintext", "--trust-new"], "drop --plaintext"),
        (["push", "a", "--server-key", "SHA256:?"], "'SHA256:?' is not a fingerprint"),
    ])
    func theCommandLineIsWrong(_ arguments: [String], _ message: String) throws {
        let finished = try Finished(arguments)
        #expect(finished.end == .exited(2) && finished.errors.contains(message), "\(finished.errors)")
    }

    /// Content of every size class: nothing, one record, several records, several lanes; also from standard input.
    @Test func whatIsPushedArrives() throws {
        let server = try SecureServer()
        let sources = try TemporaryDirectory()
        let sizes = [0, 1, 16_384, 300_000, 40 << 20]
        for size in sizes { try writeFile(sources.path("\(size)"), randomBytes(size, seed: UInt64(size + 1))) }
        let flags = ["--trust-new", "--compress", "none", "--receipts", sources.path("receipts")]
        let push = try Finished(
            ["push", "--to", server.address] + flags + sizes.map { sources.path("\($0)") }, server.surroundings())
        #expect(push.end == .exited(0), "\(push.errors)")
        for size in sizes {
            #expect(try readFile(server.home.path("stored/\(size)")) == readFile(sources.path("\(size)")))
        }
        let unix = try SecureServer(at: "unix:" + sources.path("socket"))
        #expect(try unix.push(["--trust-new"]).end == .exited(0))
        #expect(try unix.push().end == .exited(0))
    }

    @Test func halfHandshakesAreInNobodysWay() throws {
        let server = try SecureServer(["--handshake-timeout", "5s"])
        let slow = try (0..<100).map { _ in try PeerConnection(to: server.address) }
        for peer in slow { try peer.send([22, 3, 1, 2]) }
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        try server.program.waitForError("timedOut: The handshake was not finished within 5.0 seconds.")
    }

    @Test func opensslSeesTLS13AndNothingElse() throws {
        let places = ["/usr/bin/openssl", "/bin/openssl"] as [String]
        guard let openssl = places.first(where: { access($0, X_OK) == 0 }) else {
            return print("The server was not looked at with openssl, which is not here.")
        }
        let server = try SecureServer()
        var surroundings = Surroundings()
        surroundings.executable = openssl
        let see = { (flags: [String]) in
            let arguments = ["s_client", "-connect", server.address, "-brief"] + flags
            let finished = try Finished(Program(arguments, surroundings))
            return finished.output + finished.errors
        }
        #expect(try see([]).contains("TLSv1.3"))
        #expect(try see(["-alpn", "transfer/2"]).contains("TLSv1.3"))
        #expect(try see(["-alpn", "http/1.1"]).contains("TLSv1.3"))
        #expect(try see(["-alpn", "other/1"]).contains("no application protocol"))
        // A client without Ed25519 gets the other certificate, and the server requests no certificate from browsers.
        for flags in [["-alpn", "http/1.1"], ["-alpn", "transfer/2"], []] {
            let text = try see(flags + ["-sigalgs", "ecdsa_secp256r1_sha256"])
            #expect(text.contains("Signature type: ECDSA") && text.contains("TLSv1.3"), "\(text)")
            #expect(text.contains("Requested Signature Algorithms") == !flags.contains("http/1.1"), "\(text)")
        }
        #expect(try see(["-alpn", "transfer/2"]).contains("Signature type: ed25519"))
        for version in ["-tls1_2", "-tls1_1"] { #expect(try !see([version]).contains("CONNECTION ESTABLISHED")) }
    }
}
