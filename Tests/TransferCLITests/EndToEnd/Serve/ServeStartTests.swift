import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct ServeStartTests {
    @Test func theAddressIsTaken() throws {
        let server = try RunningServer()
        let other = try TemporaryDirectory()
        let second = try serve(other.path("in"), at: server.address)
        #expect(second.end == .exited(5) && second.output == "")
        #expect(
            second.errors == "transfer: Cannot listen on \(server.address): Address already in use. Is another server "
                + "running? Choose another address with --listen.\n")
    }

    @Test func theDirectoryIsTaken() throws {
        let server = try RunningServer()
        let second = try serve(server.directory)
        #expect(second.end == .exited(5))
        #expect(
            second.errors.hasPrefix(
                "transfer: Another server is already storing in '\(server.directory)': process \(server.worker ?? 0) on "
            ))
        #expect(try server.push([photo]).end == .exited(0), "the first one goes on")
    }

    @Test func theDirectoryHasNoParent() throws {
        let home = try TemporaryDirectory()
        let finished = try serve(home.path("a/b"))
        #expect(finished.end == .exited(5))
        #expect(finished.errors == "transfer: Cannot store in '\(home.path("a/b"))': No such file or directory.\n")
    }

    @Test func theDirectoryIsAFile() throws {
        let home = try TemporaryDirectory()
        try writeFile(home.path("a"), [])
        let finished = try serve(home.path("a"))
        #expect(finished.end == .exited(5))
        #expect(finished.errors == "transfer: Cannot store in '\(home.path("a"))': Not a directory.\n")
    }

    @Test(.enabled(if: geteuid() != 0, "root may write anywhere")) func theDirectoryCannotBeWritten() throws {
        let home = try TemporaryDirectory()
        chmod(home.path, 0o500)
        let finished = try serve(home.path)
        #expect(finished.end == .exited(5))
        #expect(finished.errors == "transfer: Cannot store in '\(home.path)': Permission denied.\n")
    }

    @Test func storesInStorageUnlessToldOtherwise() throws {
        let home = try TemporaryDirectory()
        let program = try Program(
            ["serve", "--listen", "127.0.0.1:0", "--plaintext"], Surroundings(directory: home.path))
        let address = try RunningServer.address(program)
        #expect(try Finished(["push", photo, "--plaintext", "--to", address]).end == .exited(0))
        #expect(try readFile(home.path("storage/demo.png")) == readFile(photo))
    }

    @Test func onSeveralAddresses() throws {
        let home = try TemporaryDirectory()
        let unix = "unix:" + home.path("socket")
        let server = try RunningServer(["--listen", unix])
        try server.program.waitForError("listening on \(unix)")
        #expect(try Finished(["push", photo, "--plaintext", "--to", unix]).end == .exited(0))
        #expect(try server.push(["--text", "a"]).end == .exited(0))
        #expect(server.visibleFiles == ["demo.png", "text.txt"])
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
        #expect(access(home.path("socket"), F_OK) != 0)
    }

    @Test func logsForPrograms() throws {
        let home = try TemporaryDirectory()
        let server = try Program(
            ["serve", "--dir", home.path("in"), "--listen", "127.0.0.1:0", "--log-format", "json", "--plaintext"])
        let log = try server.waitForError("\"event\":\"listening\"") { $0.hasSuffix("\n") }
        let object = try JSONObject(#require(log.split(separator: "\n").last))
        #expect(object.keys == ["time", "level", "event", "address"])
        let address = try #require(object["address"])
        #expect(try Finished(["push", photo, "--plaintext", "--to", address]).end == .exited(0))
        server.signal(SIGTERM)
        let finished = try Finished(server)
        #expect(finished.end == .exited(0) && finished.output == "")
        let events = try finished.errors.split(separator: "\n").map { try JSONObject($0)["event"] }
        #expect(["confined", "notConfined"].contains(events.first))
        #expect(events.dropFirst() == ["identity", "plaintext", "listening", "stored", "stopping", "stopped"])
    }

    @Test func refusesWhatIsTooLarge() throws {
        let server = try RunningServer(["--max-upload", "50K"])
        let push = try server.push([photo, "--text", "a", "--json"])
        #expect(push.end == .exited(1))
        #expect(try push.objects().map { $0["result"] }.contains("uploadTooLarge"))
        #expect(server.visibleFiles == ["text.txt"])
    }

    @Test func needsNoStandardStreams() throws {
        let home = try TemporaryDirectory()
        let path = home.path("socket")
        let program = try Program(
            ["serve", "--dir", home.path("in"), "--listen", "unix:\(path)", "--listen", "127.0.0.1:0", "--plaintext"],
            Surroundings(input: .closed, output: .closed, errors: .closed))
        // Nothing announces that the server listens, so the client retries until it can connect.
        let push = try Finished(["push", photo, "--plaintext", "--to", "unix:\(path)"], retryingWhile: .exited(3))
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(try readFile(home.path("in/demo.png")) == readFile(photo))
        program.signal(SIGTERM)
        #expect(try program.wait() == .exited(0))
    }

    private func serve(_ directory: String, at address: String = "127.0.0.1:0") throws -> Finished {
        try Finished(["serve", "--dir", directory, "--listen", address])
    }
}
