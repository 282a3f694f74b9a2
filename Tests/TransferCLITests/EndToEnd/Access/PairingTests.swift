import Glibc
import Testing
import TransferAccess
import TransferTestSupport

/// Pairing links, from the server that prints one to the client that the server admits by it.
@Suite(.ownThreads) struct PairingTests {
    /// A server that other machines can reach and another user runs, and the link that it printed.
    private static func server(_ flags: [String] = []) throws -> (server: SecureServer, link: String) {
        let server = try SecureServer(flags + ["--advertise", "127.0.0.1"], at: "0.0.0.0:0", user: "owner")
        try server.program.waitForOutput("'\n")
        return (server, try link(server.program.outputText))
    }

    private static func link(_ line: String) throws -> String {
        let parts = line.split(separator: "'")
        #expect(parts.count == 3 && parts[0] == "transfer push photo.png --to " && parts[2] == "\n", "\(line)")
        return String(try #require(parts.dropFirst().first))
    }

    @Test func theLineLetsOneClientIn() throws {
        let (server, link) = try Self.server()
        let push = try server.push(to: link)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.storedFiles == ["note"])
        // The client pushes with the same link again, and then with the address alone: client and server know each
        // other by now.
        #expect(try server.push(to: link).end == .exited(0))
        let address = try #require(link.split(separator: "/").last?.prefix { $0 != "#" })
        #expect(try server.push(to: String(address)).end == .exited(0))
        #expect(try server.trust(["list"]).lines.count == 1)
        #expect(try server.access(["list"]).lines.count == 1)
    }

    /// A client that a link admitted may neither remove nor replace files of others.
    @Test func whoIsLetInByItTakesNothingAway() throws {
        let (server, link) = try Self.server()
        #expect(server.program.errorText.contains("it may then push, list and fetch, but not remove"))
        #expect(try server.push(to: link).end == .exited(0))
        try writeFile("\(server.directory)/theirs", [1])
        let address = try #require(link.split(separator: "/").last?.prefix { $0 != "#" })
        let removed = try Finished(["remove", "theirs", "--from", String(address)], server.surroundings())
        #expect(removed.end == .exited(4), "\(removed.errors)")
        let foreseen = try Finished(["remove", "-n", "theirs", "--from", String(address)], server.surroundings())
        #expect(foreseen.end == .exited(4) && foreseen.errors == removed.errors, "\(foreseen.errors)")
        let replaced = try Finished(
            ["push", "--text", "mine", "--name", "theirs", "--on-conflict", "overwrite", "--to", String(address)],
            server.surroundings())
        #expect(
            replaced.end == .exited(4) && replaced.errors.contains("forbidden"), "\(replaced.end) \(replaced.errors)")
        #expect(try readFile("\(server.directory)/theirs") == [1])
        #expect(try server.push(["--on-conflict", "overwrite"], to: String(address)).end == .exited(0))
        #expect(try server.access(["list"]).output.contains("no-remove"))
    }

    /// The process that replaces a dead one prints no second link: the first link stays valid.
    @Test func theLineIsPrintedOnce() throws {
        let (server, link) = try Self.server()
        for signal in [SIGKILL, SIGTERM] {
            let before = try server.program.waitForWorker()
            kill(before, signal)
            _ = try server.program.waitForWorker(after: before)
            // The link has admitted no client so far, so a server that starts now would print one.
            try server.program.waitForError("was ended by \(signal == SIGKILL ? "SIGKILL" : "SIGTERM")")
        }
        #expect(try server.push(to: link).end == .exited(0))
        try server.end()
        #expect(server.program.outputText.split(separator: "\n").count == 1, "\(server.program.outputText)")
        #expect(server.program.errorText.split(separator: "no client may push from other machines yet").count == 2)
    }

    /// A link contains the address that the running server reports.
    @Test func aLinkHasTheAddressOfTheRunningServer() throws {
        let server = try SecureServer(["--advertise", "nas.example:77"], at: "127.0.0.1:0", user: "owner")
        #expect(try Self.link(server.access(["pair"]).output).hasPrefix("transfer://nas.example:77#"))
        let port = server.address.split(separator: ":").last ?? ""
        let other = try Self.link(server.access(["pair", "--advertise", "there.example"]).output)
        #expect(other.hasPrefix("transfer://there.example:\(port)#"), "\(other.prefix(40))")
    }

    @Test func whoCannotUseALinkIsWarned() throws {
        let local = try SecureServer(user: "owner")
        let pair = try local.access(["pair"])
        #expect(try Self.link(pair.output).hasPrefix("transfer://\(local.address)#"))
        #expect(pair.errors.contains("listens on this machine only"), "\(pair.errors)")
        // The link works for another user of this machine.
        #expect(try local.push(to: try Self.link(pair.output)).end == .exited(0))
        let plain = try RunningServer()
        let none = try Finished(["access", "pair", "--dir", plain.directory])
        #expect(none.errors.contains("runs without encryption and accepts no codes"), "\(none.errors)")
        let open = try SecureServer()
        #expect(try open.access(["pair"]).errors.contains("was started with --open"))
    }

    @Test func aSecondClientIsRefused() throws {
        let (server, link) = try Self.server()
        #expect(try server.push(to: link).end == .exited(0))
        let second = try server.push(to: link, user: "second")
        #expect(second.end == .exited(4), "\(second.errors)")
        #expect(second.errors.contains("This pairing code was used, has expired or is wrong."), "\(second.errors)")
        #expect(!second.errors.contains("pair_"))
        #expect(try server.push(to: link).end == .exited(0))
        #expect(try server.access(["list"]).lines.count == 1)
    }

    /// Several lanes present the same code at once, before the server knows any of them.
    @Test func aLongPushIsLetInOnce() throws {
        let (server, link) = try Self.server()
        try writeFile(server.home.path("long"), randomBytes(30 << 20, seed: 7))
        let arguments = ["push", server.home.path("long"), "--to", link, "--lanes", "4", "--compress", "none"]
        let push = try Finished(arguments, server.surroundings())
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(!server.program.errorText.contains("authenticationFailed"), "\(server.program.errorText)")
        #expect(try server.access(["list"]).lines.count == 1)
    }

    @Test func aFolderMayStandInTheLink() throws {
        let (server, link) = try Self.server()
        let parts = link.split(separator: "#", maxSplits: 1)
        let push = try server.push(to: "\(parts[0])/a%20b#\(parts[1])")
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.storedFiles == ["a b/note"])
    }

    /// A server with another key that answers at the address does not receive the code.
    @Test func anotherKeyIsRefused() throws {
        let (server, link) = try Self.server()
        let other = try SecureServer()
        let port = other.address.split(separator: ":").last ?? ""
        let fields = try #require(link.split(separator: "#").last)
        let push = try server.push(to: "transfer://127.0.0.1:\(port)#\(fields)")
        #expect(push.end == .exited(4) && push.errors.contains("another server answers"), "\(push.errors)")
        #expect(!push.errors.contains("pair_") && other.storedFiles.isEmpty)
        #expect(Glibc.access(server.list, F_OK) != 0)
        #expect(try server.push(to: link).end == .exited(0))
    }

    /// A link contains the key that clients will see, whether or not the server runs when the link is made.
    @Test func aCertificateIsInTheLink() throws {
        let home = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: home.path("authority.pem"))
        try authority.issue("DNS:other.example", to: home.path("cert.pem"), key: home.path("key.pem"))
        let flags = ["--cert", home.path("cert.pem"), "--key", home.path("key.pem")]
        let server = try SecureServer(flags, in: home, user: "owner")
        let pair = try server.access(["pair", "--advertise", server.address])
        let push = try server.push(to: try Self.link(pair.output))
        #expect(push.end == .exited(0), "\(push.errors)")
        try server.end()
        let later = try SecureServer(in: home, at: server.address, user: "owner")
        let next = try later.access(["pair", "--advertise", server.address])
        #expect(try later.push(to: try Self.link(next.output), user: "second").end == .exited(0))
    }

    /// The server was set up again with a new key, and its operator has made a new link.
    @Test func aNewLinkReplacesTheKey() throws {
        let (server, link) = try Self.server()
        #expect(try server.push(to: link).end == .exited(0))
        let before = try server.fingerprint
        try server.end()
        let port = server.address.split(separator: ":").last ?? ""
        let flags = ["--advertise", "127.0.0.1"]
        let second = try SecureServer(flags, in: server.home, stored: "other", at: "0.0.0.0:\(port)", user: "owner")
        try second.program.waitForOutput("'\n")
        let push = try second.push(to: try Self.link(second.program.outputText))
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(push.errors.contains("The known key of 127.0.0.1:\(port) was \(before); the link has "))
        #expect(try second.push(to: "127.0.0.1:\(port)").end == .exited(0))
    }

    @Test func whoIsAdmittedAlreadyNeedsNoInvitation() throws {
        let home = try TemporaryDirectory()
        let before = try SecureServer(in: home, user: "owner")
        _ = try before.access(["token", "create", "--name", "camera"])
        try before.end()
        #expect(before.program.outputText == "")
        let after = try SecureServer(in: home, at: "0.0.0.0:0", user: "owner")
        try after.end()
        #expect(after.program.outputText == "")
    }

    @Test func anOpenServerNeedsNoInvitation() throws {
        let server = try SecureServer(["--open"], at: "0.0.0.0:0", user: "owner")
        try server.end()
        #expect(server.program.outputText == "")
    }

    @Test func aTerminalShowsTheLinkToCameras() throws {
        let home = try TemporaryDirectory()
        var surroundings = Surroundings(output: .terminal(columns: 200))
        surroundings.environment["XDG_CONFIG_HOME"] = home.path("owner")
        let serve = try Program(["serve", "--dir", home.path("in"), "--listen", "0.0.0.0:0"], surroundings)
        try serve.waitForOutput("transfer push photo.png --to 'transfer://")
        // The library that draws QR codes need not be installed.
        #expect(serve.outputText.contains("\u{2580}") == (QRCode("a") != nil))
    }

    @Test func theLinkSurvivesAShell() throws {
        let (server, link) = try Self.server()
        var surroundings = server.surroundings()
        surroundings.executable = "/bin/sh"
        let printed = try Finished(["-c", "printf %s '\(link)'"], surroundings)
        #expect(printed.output == link)
    }

    @Test(arguments: [
        ("transfer://h#code=pair_1", "the link of --to has a pairing code that is incomplete or mistyped"),
        ("transfer://h#pair_01234567_0123456789", "the link of --to contains a field"),
        ("transfr://h#code=pair_01234567_0123", "'transfr://h' is not a server"),
        ("h/f#code=pair_01234567_01234567012345670123456701234567", "contains a pairing code, but is not a link"),
        ("transfer://", "the link of --to does not begin with"),
    ])
    func noMessageHasALink(_ text: String, _ message: String) throws {
        let push = try Finished(["push", photo, "--to", text])
        #expect(push.end == .exited(2) && push.errors.contains(message), "\(push.errors)")
        #expect(!push.errors.contains("pair_"), "\(push.errors)")
    }

    @Test func aLinkIsForEncryptedConnections() throws {
        let link = "transfer://h#code=pair_01234567_01234567012345670123456701234567"
        let push = try Finished(["push", photo, "--plaintext", "--to", link])
        #expect(push.end == .exited(2) && push.errors.contains("anyone on the network"), "\(push.errors)")
    }
}
