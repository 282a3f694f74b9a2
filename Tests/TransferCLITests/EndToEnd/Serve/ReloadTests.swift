import Glibc
import Testing
import TransferTestSupport

/// SIGHUP makes a server read its files again.
@Suite(.ownThreads) struct ReloadTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
        try makeDirectory(home.path("config"))
    }

    private var file: String { home.path("config/server.toml") }

    /// Replaces the configuration file, as editors do.
    private func configure(_ text: String) throws {
        try writeFile(home.path("config/new.toml"), "[serve]\n\(text)\n".utf8)
        guard rename(home.path("config/new.toml"), file) == 0 else { throw Program.Failure(description: "rename") }
    }

    private func server(_ settings: String, _ surroundings: Surroundings = Surroundings()) throws -> RunningServer {
        try configure(settings)
        return try RunningServer(["--config", file], surroundings)
    }

    /// - Returns: the server's log of the reload.
    private func reload(_ program: Program, until words: String = "reloaded") throws -> String {
        let before = program.errorText
        program.signal(SIGHUP)
        let log = try program.waitForError(words) { log in
            let new = log.dropFirst(before.count)
            return new.contains(words) && new.hasSuffix("\n")
        }
        return String(log.dropFirst(before.count))
    }

    @Test func limitsChangeWhileAConnectionGoesOn() throws {
        let server = try server("max-upload = \"50K\"\nlog-level = \"info\"")
        #expect(try server.push([photo]).end == .exited(1))
        let push = try server.startPush(["-", "--name", "in.bin"], Surroundings(input: .pipe))
        try push.write(Array("first, ".utf8))
        try configure("max-upload = \"1M\"\nlog-level = \"debug\"")
        #expect(try reload(server.program).contains(" info reloaded: log-level, max-upload\n"))
        try push.write(Array("second".utf8))
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        #expect(try server.stored("in.bin") == Array("first, second".utf8))
        #expect(try server.push([photo]).end == .exited(0))
        try server.program.waitForError(" debug connection from ")
        #expect(try reload(server.program).contains(" info reloaded: nothing has changed\n"))
    }

    @Test func quotaAndRoom() throws {
        let server = try server("quota = \"10K\"")
        #expect(try server.push([photo]).end == .exited(1))
        try configure("quota = \"1M\"\nmin-free = \"1K\"\nlog-format = \"json\"")
        let log = try reload(server.program)
        #expect(log.contains("\"settings\":\"log-format quota min-free\""), "\(log)")
        #expect(try server.push([photo]).end == .exited(0))
        let status = try Finished(["status", "--dir", server.directory, "--json"]).output
        #expect(status.contains("\"minimumFree\":1024,\"quota\":1048576,"), "\(status)")
    }

    @Test func whatTakesARestart() throws {
        let server = try server("max-connections = 7\nmin-rate = \"2K\"")
        try configure("max-connections = 8\nmin-free = \"1K\"\ndurability = \"none\"\nmin-rate = \"2K\"")
        let log = try reload(server.program, until: "after a restart")
        #expect(log.contains(" info reloaded: nothing has changed\n"), "\(log)")
        #expect(
            log.contains(" warning the changes of durability, min-free, max-connections take effect after a restart; "),
            "\(log)"
        )
        #expect(try server.push([photo]).end == .exited(0))
    }

    @Test(arguments: [
        "max-upload = \"much\"", "max-uplaod = \"1M\"", "\u{1}", "drain-timeout = [", "silence-timeout = 0",
    ])
    func aBrokenFileChangesNothing(_ text: String) throws {
        let server = try server("max-upload = \"50K\"")
        try configure("log-format = \"json\"\n\(text)")
        let log = try reload(server.program, until: "not reloaded")
        #expect(log.contains(" error not reloaded, all settings stay as they were: "), "\(log)")
        #expect(log.contains("server.toml:") && log.split(separator: "\n").count == 1, "\(log)")
        #expect(try server.push([photo]).end == .exited(1), "the limit holds")
        unlink(file)
        #expect(try reload(server.program, until: "not reloaded").contains("there is no such file"))
        try configure("max-upload = \"1M\"")
        #expect(try reload(server.program).contains("reloaded: max-upload\n"))
        #expect(try server.push([photo]).end == .exited(0))
    }

    @Test func theManagerIsTold() throws {
        let manager = try NotificationSocket(home.path("notify"))
        var surroundings = Surroundings()
        surroundings.environment["NOTIFY_SOCKET"] = manager.name
        let server = try server("", surroundings)
        let ready = try manager.next()
        _ = try reload(server.program)
        #expect(try manager.next().first == "RELOADING=1")
        #expect(try manager.next() == ready)
    }

    /// The kernel sends SIGHUP when the leader of the terminal's session ends.
    @Test func aTerminalThatHangsUpEndsTheServer() throws {
        var surroundings = Surroundings(errors: .terminal(columns: 80), ownsTerminal: true)
        surroundings.executable = "/bin/sh"
        let script = "\"$0\" serve --dir '\(home.path("in"))' --listen 127.0.0.1:0 --plaintext 2>&1 & wait"
        let shell = try Program(["-c", script, try Spawner.executable()], surroundings)
        try shell.waitForOutput(" listening on ")
        shell.signal(SIGKILL)
        // The server shares the streams of the shell, so this also waits for the server.
        #expect(try shell.wait() == .killed(by: SIGKILL))
        #expect(shell.outputText.hasSuffix(" info stopped\n") && !shell.outputText.contains("reloaded"))
    }

    /// SIGHUP ends every command except a server.
    @Test func otherCommandsEnd() throws {
        let server = try RunningServer()
        let push = try server.startPush(["-", "--name", "a"], Surroundings(input: .pipe))
        try push.write([1])
        push.signal(SIGHUP)
        #expect(try push.wait() == .killed(by: SIGHUP))
    }
}

/// Other programs renew certificates every few weeks, while clients are connected.
@Suite(.ownThreads) struct CertificateReloadTests {
    private let home: TemporaryDirectory
    private let authority: CertificateAuthority

    init() throws {
        home = try TemporaryDirectory()
        authority = try CertificateAuthority(at: home.path("authority.pem"))
        for folder in ["live", "archive", "other"] { try makeDirectory(home.path(folder)) }
        try renew(1)
    }

    /// Renews like certbot: new files, and new links in place of the old ones.
    private func renew(_ number: Int) throws {
        let (certificate, key) = (home.path("archive/cert\(number).pem"), home.path("archive/key\(number).pem"))
        try authority.issue("DNS:localhost,IP:127.0.0.1", days: -1...5, to: certificate, key: key)
        for name in ["cert", "key"] {
            unlink(home.path("live/\(name).pem"))
            guard symlink("../archive/\(name)\(number).pem", home.path("live/\(name).pem")) == 0 else {
                throw Program.Failure(description: "symlink: errno \(errno)")
            }
        }
    }

    private func server() throws -> SecureServer {
        try SecureServer(["--cert", home.path("live/cert.pem"), "--key", home.path("live/key.pem")])
    }

    private var trusting: [String: String] { ["SSL_CERT_FILE": authority.path] }

    @discardableResult
    private func reload(_ server: SecureServer, until words: String) throws -> String {
        server.program.signal(SIGHUP)
        return try server.program.waitForError(words) { $0.hasSuffix("\n") }
    }

    @Test func aRenewedOneIsShown() throws {
        let server = try server()
        #expect(try server.push(to: nil, trusting).end == .exited(0))
        let first = try server.fingerprint
        try renew(2)
        let log = try reload(server, until: " info reloaded: the certificate, whose key is SHA256:")
        #expect(!log.hasSuffix(first + "\n"))
        #expect(try server.push(["--server-key", first], trusting).end == .exited(4), "the old key is gone")
        let second = String(try #require(log.split(separator: " ").last).dropLast())
        #expect(try server.push(["--server-key", second], trusting).end == .exited(0))
        let shown = try String(decoding: readFile("\(server.directory)/.transfer/shown_key"), as: UTF8.self)
        #expect(shown == second + "\n", "links have the new key")
    }

    @Test func aBrokenOneChangesNothing() throws {
        let server = try server()
        try writeFile(home.path("archive/cert1.pem"), "no certificate".utf8)
        let log = try reload(server, until: "not reloaded, all settings stay as they were: The certificate '")
        #expect(log.contains("live/cert.pem' cannot be used: "))
        #expect(try server.push(to: nil, trusting).end == .exited(0))
        try renew(2)
        try reload(server, until: " info reloaded: the certificate")
        #expect(try server.push(to: nil, trusting).end == .exited(0))
    }
}
