import Glibc
import Testing
import TransferTestSupport

/// One user with a server and clients on one machine.
@Suite(.ownThreads) struct OwnServerTests {
    private let user = SecureServer.client

    @Test(arguments: ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"])
    func nothingHasToBeSaid(_ address: String) throws {
        let server = try SecureServer(at: address, user: user)
        let port = server.address.split(separator: ":").last ?? ""
        let isIPv6 = address == "[::1]:0"
        let host = isIPv6 ? "[::1]" : "127.0.0.1"
        // Not every machine resolves `localhost` to its IPv6 address.
        for name in isIPv6 ? [host] : [host, "localhost"] {
            let push = try server.push(to: "\(name):\(port)")
            #expect(push.end == .exited(0), "\(push.errors)")
        }
        let fingerprint = try KeyInLog(server.program.errorText).server
        let lines = "\(host):\(port) \(fingerprint) #serve\nlocalhost:\(port) \(fingerprint) #serve\n"
        #expect(try String(decoding: readFile(server.list), as: UTF8.self) == lines)
        #expect(server.storedFiles == ["note"])
    }

    @Test func aUnixSocketWillDo() throws {
        let home = try TemporaryDirectory()
        let server = try SecureServer(in: home, at: "unix:" + home.path("socket"), user: user)
        let push = try server.push()
        #expect(push.end == .exited(0), "\(push.errors)")
    }

    @Test func theHomeDirectoryIsThePlaceForTheKey() throws {
        let home = try TemporaryDirectory()
        var surroundings = Surroundings()
        surroundings.environment["HOME"] = home.path
        let program = try Program(["serve", "--dir", home.path("in"), "--listen", "127.0.0.1:0"], surroundings)
        let address = try RunningServer.address(program)
        let push = try Finished(["push", photo, "--to", address], surroundings)
        #expect(push.end == .exited(0), "\(push.errors)")
        var status = stat()
        #expect(stat(home.path(".config/transfer/key.pem"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    /// A server on the same port, with a new directory and therefore a new key.
    @Test func aDirectoryCanBeMadeAnew() throws {
        let first = try SecureServer(user: user)
        #expect(try first.push().end == .exited(0))
        try first.end()
        let second = try SecureServer(in: first.home, stored: "other", at: first.address, user: user)
        let push = try second.push()
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(second.storedFiles == ["note"])
    }

    /// An entry that the user wrote by hand outweighs an entry written by a server.
    @Test func whatTheUserSaidStays() throws {
        let first = try SecureServer(user: user)
        let known = try KeyInLog(first.program.errorText).server
        #expect(try first.trust(["add", first.address, known]).end == .exited(0))
        try first.end()
        let second = try SecureServer(in: first.home, stored: "other", at: first.address, user: user)
        let warning = "has another key for \(first.address), not written by a server"
        #expect(second.program.errorText.contains(warning), "\(second.program.errorText)")
        #expect(try second.push().errors.contains("HAS CHANGED"))
        let port = first.address.split(separator: ":").last ?? ""
        #expect(try second.push(to: "localhost:\(port)").end == .exited(0))
        #expect(try second.trust(["list"]).output.contains("\(first.address) \(known)\n"))
    }

    /// Clients then see the certificate, and no authority vouches for this one.
    @Test func aCertificateIsKnownToo() throws {
        let home = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: home.path("authority.pem"))
        try authority.issue("DNS:other.example", to: home.path("cert.pem"), key: home.path("key.pem"))
        let flags = ["--cert", home.path("cert.pem"), "--key", home.path("key.pem")]
        let server = try SecureServer(flags, in: home, user: user)
        let push = try server.push()
        #expect(push.end == .exited(0), "\(push.errors)")
    }

    @Test func aKeyThatOthersCanReadIsNotUsed() throws {
        let server = try SecureServer(user: user)
        let key = server.home.path("\(user)/transfer/key.pem")
        #expect(chmod(key, 0o644) == 0)
        let push = try server.push()
        #expect(push.end == .exited(4) && push.errors.contains("'chmod 600'"), "\(push.errors)")
        #expect(server.storedFiles.isEmpty)
        // The server starts nevertheless.
        try server.end()
        let second = try SecureServer(in: server.home, user: user)
        #expect(second.program.errorText.contains("your own clients have no access: Your key"))
    }

    /// Every client with the right to push could replace a configuration in the server's directory.
    @Test func aConfigurationInsideTheDirectoryIsNotUsed() throws {
        let server = try SecureServer(stored: SecureServer.client, user: user)
        #expect(files(below: server.directory).allSatisfy { $0.hasPrefix(".transfer/") })
        #expect(
            server.program.errorText.contains("your own clients have no access: your configuration is in the directory")
        )
        #expect(try server.push(["--server-key", server.fingerprint]).end == .exited(4))
    }

    /// Without a home directory there is no key, and no list of servers.
    @Test func aUserWithoutAHomeCanPushToAnOpenServer() throws {
        let server = try SecureServer()
        let push = try Finished([
            "push", photo, "--to", server.address, "--server-key", server.fingerprint,
        ])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(Glibc.access("/nonexistent", F_OK) != 0)
    }

    @Test func whereNoKeyCanBeMadeTheServerIsAskedWithoutOne() throws {
        let server = try SecureServer()
        // Not even root can create files in /proc.
        let push = try server.push(["--server-key", server.fingerprint], ["XDG_CONFIG_HOME": "/proc"])
        #expect(
            push.end == .exited(0) && push.errors.contains("No server will recognise this client: "), "\(push.errors)")
    }

    @Test func whoIsLetInIsSaid() throws {
        let open = try SecureServer()
        let warning = "warning ANYONE WHO CAN REACH THIS SERVER MAY PUSH: it was started with --open\n"
        #expect(open.program.errorText.contains(warning), "\(open.program.errorText)")
        let bare = try RunningServer()
        #expect(bare.program.errorText.contains("info without encryption clients cannot be identified"))
        let reachable = try RunningServer(["--allow-insecure"], at: "0.0.0.0:0")
        #expect(reachable.program.errorText.contains("warning without encryption clients cannot be identified"))
    }
}

/// The server's fingerprint, from the log of the server.
struct KeyInLog {
    let server: String

    init(_ log: String) throws {
        let words = log.split { $0 == " " || $0 == "\n" }
        server = String(try #require(words.last { $0.hasPrefix("SHA256:") }))
    }
}
