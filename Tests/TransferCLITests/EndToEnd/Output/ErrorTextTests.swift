import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

/// What a user reads when a push fails: what happened, to which file, whether the client tried again, and what to do.
@Suite(.ownThreads) struct ErrorTextTests {
    @Test func connectionRefused() throws {
        let peer = try FakeServer()
        peer.refuse()
        let push = try Finished(["push", photo, "--to", peer.address])
        #expect(push.end == .exited(3))
        #expect(
            push.errors == """
                transfer: Cannot reach \(peer.address): Connection refused. It was tried once, and nothing was sent. \
                Check whether 'transfer serve' runs there, and on that port.

                """)
    }

    @Test func nameNotFound() throws {
        let push = try Finished(["push", photo, "--to", "nowhere.invalid"])
        #expect(push.end == .exited(3))
        // The resolver's message depends on whether there is a network.
        #expect(push.errors.hasPrefix("transfer: Cannot reach nowhere.invalid:5288: "), "\(push.errors)")
        let end = """
             It was tried once, and nothing was sent. Check whether the name is spelt right, and whether this machine \
            is connected to a network.

            """
        #expect(push.errors.hasSuffix(end), "\(push.errors)")
    }

    @Test func connectionLostForGood() throws {
        let peer = try FakeServer()
        let push = try Program(["push", photo, "--plaintext", "--to", peer.address, "--retry-for", "0"])
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        _ = try connection.uploads(1)
        peer.refuse()
        connection.close()
        let finished = try Finished(push)
        #expect(finished.end == .exited(3))
        #expect(
            finished.errors == """
                connectionLost  \(photo): Not acknowledged: the connection was lost.
                transfer: Cannot reach \(peer.address): the server closed the connection. It was not tried again; \
                run the same command again to continue with the files that are not acknowledged. Check whether 'transfer \
                serve' runs there, and on that port.

                """ + Self.summary(of: finished) + "1 failed (1 connectionLost)\n"
                + "to go on: \(try Spawner.executable()) push \(photo) --plaintext --to \(peer.address) --retry-for 0\n",
            "\(finished.errors)")
    }

    @Test func fingerprintChanged() throws {
        let server = try SecureServer()
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        let known = try server.fingerprint
        try server.end()
        let other = try SecureServer(in: server.home, stored: "other", at: server.address)
        let push = try other.push()
        #expect(push.end == .exited(4))
        #expect(
            try push.errors == """
                transfer: THE KEY OF THE SERVER \(server.address) HAS CHANGED. An attacker may be answering in its \
                place to read what you send, or the server was set up anew. Known is \(known), shown was \
                \(other.fingerprint). Nothing was sent. Ask the server's operator for its fingerprint; if it is the \
                new one, run 'transfer trust remove \(server.address)' and push again.

                """)
    }

    @Test func accessRefused() throws {
        let finished = try push { connection in
            var frame: [UInt8] = []
            let message = "The server does not know this client. To let it in, run there: transfer access add KEY"
            Message.result(UploadResult(id: .none, code: .authenticationRequired, message: message)).encode(
                into: &frame)
            try connection.send(frame)
        }
        #expect(finished.end == .exited(4))
        #expect(
            finished.errors == """
                authenticationRequired  \(photo): Not acknowledged: the server refused.
                transfer: The server refused: The server does not know this client. To let it in, run there: transfer \
                access add KEY (authenticationRequired). It was not tried again.

                """ + Self.summary(of: finished) + "1 failed (1 authenticationRequired)\n")
    }

    @Test func anotherVersion() throws {
        let finished = try push { connection in
            var frame: [UInt8] = []
            Message.welcome(Welcome()).encode(into: &frame)
            frame[1] = 3
            try connection.send(frame)
        }
        #expect(finished.end == .exited(5))
        let sentence = """
            \ntransfer: The server at 127.0.0.1:PORT does not speak this version of Transfer: This side speaks version \
            2; the frame is of version 3. It was not tried again. Check whether the port is right; if it is, update the \
            server or the client, whichever is older.\n
            """
        #expect(finished.errors.hidingPorts.contains(sentence), "\(finished.errors)")
    }

    @Test func diskFullThere() throws {
        let server = try RunningServer(["--min-free", "7000000TiB"])
        let push = try server.push([photo])
        #expect(push.end == .exited(1))
        #expect(push.errors.hasPrefix("insufficientStorage  \(photo): The server keeps "), "\(push.errors)")
        let end = " Push it again when there is room on the server's disk.\n"
        #expect(push.errors.contains(end), "\(push.errors)")
        #expect(push.errors.hasSuffix("1 failed (1 insufficientStorage)\n"))
    }

    @Test func quotaUsedUp() throws {
        let server = try RunningServer(["--quota", "1K"])
        let push = try server.push([photo])
        #expect(push.end == .exited(1))
        #expect(push.errors.hasPrefix("quotaExceeded  \(photo): "), "\(push.errors)")
        #expect(push.errors.contains(" Ask the server's operator to raise the quota, and push it again.\n"))
    }

    @Test func diskFullHere() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--receipts", "/dev/full"])
        #expect(push.end == .exited(1) && push.output.hasPrefix("committed  "))
        #expect(
            push.errors == Self.summary(of: push, "1 stored, ", end: "\n") + """
                transfer: cannot write the receipts to '/dev/full': No space left on device. What is stored stays \
                stored; make room and push again for new receipts.

                """, "\(push.errors)")
    }

    @Test func fileChangedWhileItWasSent() throws {
        let peer = try FakeServer()
        let files = try BatchFiles([])
        let path = files.home.path("log")
        try writeFile(path, randomBytes(9 << 20, seed: 2))
        let push = try Program(["push", path, "--plaintext", "--to", peer.address, "--lanes", "1"])
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        let asked = try connection.next { if case .resume(let begin) = $0 { begin.id } else { nil } }
        try writeFile(path, randomBytes(9 << 20, seed: 3))
        try connection.send(.accept(asked))
        // The client aborts the upload.
        try connection.next { if case .abort = $0 { () } else { nil } }
        try connection.send(.result(UploadResult(id: asked, code: .aborted)))
        let finished = try Finished(push)
        #expect(finished.end == .exited(1))
        #expect(
            finished.errors == """
                sourceChanged  \(path): The file changed while it was read; push it again when no program writes to it.

                """ + Self.summary(of: finished) + "1 failed (1 sourceChanged)\n", "\(finished.errors)")
    }

    /// Root can read every file unless this capability is dropped.
    @Test func permissionDenied() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["secret"])
        chmod(files.home.path("secret"), 0)
        var surroundings = files.here
        var arguments = ["push", "secret", "--plaintext", "--to", server.address]
        if geteuid() == 0 {
            surroundings.executable = "/usr/bin/setpriv"
            let capabilities = "--bounding-set=-dac_override,-dac_read_search"
            guard access("/usr/bin/setpriv", X_OK) == 0 else { return print("skipped permissionDenied: no setpriv(1)") }
            arguments = [capabilities, try Spawner.executable()] + arguments
        }
        let push = try Finished(arguments, surroundings)
        #expect(push.end == .exited(1))
        #expect(
            push.errors == "sourceUnreadable  secret: Permission denied: this user may not read it.\n"
                + Self.summary(of: push) + "1 failed (1 sourceUnreadable)\n", "\(push.errors)")
    }

    @Test func triedAgainAndAgain() throws {
        let peer = try FakeServer()
        let push = try Program(["push", photo, "--plaintext", "--to", peer.address, "--retry", "2"])
        let connection = try peer.accept()
        try connection.send(.welcome(Welcome()))
        for _ in 0..<3 {
            let (id, _) = try connection.uploads(1)[0]
            try connection.send(.result(UploadResult(id: id, code: .timedOut, message: "The disk was too slow.")))
        }
        let finished = try Finished(push)
        #expect(finished.end == .exited(1))
        let line = "timedOut  \(photo): The disk was too slow. It was tried 3 times. Push it again later.\n"
        #expect(finished.errors.hasPrefix(line), "\(finished.errors)")
    }

    private func push(_ answer: (PeerConnection) throws -> Void) throws -> Finished {
        let peer = try FakeServer()
        let push = try Program(["push", photo, "--plaintext", "--to", peer.address, "--retry-for", "0"])
        let connection = try peer.accept()
        try answer(connection)
        defer { connection.close() }
        return try Finished(push)
    }

    /// The part of the summary that varies between runs.
    private static func summary(of push: Finished, _ start: String = "0 stored, ", end: String = ", ") -> String {
        let lines = push.errors.split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix(start) }) else { return "" }
        // Without traffic there is no rate.
        let rate = line.firstRange(of: #/ in [\d.]+ s( \([^)]*/s\))?/#)
        return rate.map { String(line[..<$0.upperBound]) + end } ?? ""
    }
}

extension String {
    fileprivate var hidingPorts: String {
        replacing(#/127\.0\.0\.1:\d+/#, with: "127.0.0.1:PORT")
    }
}
