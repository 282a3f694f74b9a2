import Glibc
import Testing
import TransferTestSupport

/// Settings from files and from the environment, with the real program.
@Suite(.ownThreads) struct ConfigurationTests {
    private let home: TemporaryDirectory
    private var surroundings = Surroundings()

    init() throws {
        home = try TemporaryDirectory()
        try makeDirectory(home.path("config"))
        try makeDirectory(home.path("config/transfer"))
        surroundings.environment["XDG_CONFIG_HOME"] = home.path("config")
    }

    private var file: String { home.path("config/transfer/config.toml") }

    private func write(_ text: String) throws { try writeFile(file, text.utf8) }

    @Test func aServerHasAFileOfItsOwn() throws {
        try writeFile(
            home.path("serve.toml"),
            "[serve]\ndir = 'in'\nlisten = ['127.0.0.1:0']\nplaintext = true\nmax-upload = 3\n".utf8)
        try write("[serve]\nplaintext = false\nlog-format = 'json'\n")
        let server = try Program(["serve", "--config", home.path("serve.toml"), "--no-log-format"], surroundings)
        let address = try RunningServer.address(server)
        let push = try Finished(["push", "--text", "long", "--plaintext", "--to", address], surroundings)
        #expect(push.end == .exited(1) && push.errors.contains("uploadTooLarge"), "\(push.errors)")
        #expect(
            try Finished(["push", "--text", "abc", "--plaintext", "--to", address], surroundings).end == .exited(0))
        // A relative path is relative to the folder of the configuration file.
        #expect(files(below: home.path("in")).contains("text.txt"))
        server.signal(SIGTERM)
        #expect(try server.wait() == .exited(0))
    }

    /// Transfer would run commands from the file: `exec` of a listener or of a watch.
    @Test func aFileThatOthersCanWriteIsNotBelieved() throws {
        let server = try RunningServer()
        try write("[push]\nplaintext = true\nname = 'from-file'\nto = '\(server.address)'\n")
        let push = ["push", "--text", "x"]
        #expect(chmod(file, 0o666) == 0)
        let refused = try Finished(push, surroundings)
        #expect(refused.end == .exited(2) && refused.output.isEmpty)
        #expect(refused.errors.contains("\(file): is not trusted: it can be written by other users. Run 'chmod go-w "))
        #expect(server.visibleFiles.isEmpty)
        #expect(try Finished(push + ["--insecure-permissions"], surroundings).end == .exited(0))
        var environment = surroundings
        environment.environment["TRANSFER_INSECURE_PERMISSIONS"] = "true"
        #expect(try Finished(push, environment).end == .exited(0))
        #expect(try Finished(push + ["--no-insecure-permissions"], environment).end == .exited(2))
        #expect(try Finished(push + ["--", "--insecure-permissions"], surroundings).end == .exited(2))
        #expect(chmod(file, 0o644) == 0 && chmod(home.path("config/transfer"), 0o777) == 0)
        let folder = try Finished(push, surroundings)
        #expect(folder.end == .exited(2) && folder.errors.contains("its folder '"), "\(folder.errors)")
        #expect(chmod(home.path("config/transfer"), 0o755) == 0)
        #expect(try Finished(push, surroundings).end == .exited(0))
    }

    /// A client of the server could have sent the file, to give itself more rights.
    @Test func aFileThatClientsCanSendIsNotBelieved() throws {
        let server = try Program(
            ["serve", "--dir", home.path, "--listen", "127.0.0.1:0", "--plaintext", "--no-supervise"])
        _ = try RunningServer.address(server)
        server.signal(SIGTERM)
        #expect(try server.wait() == .exited(0))
        let list = ["access", "list", "--dir", home.path]
        #expect(try Finished(list, surroundings).end == .exited(0))
        try write("[access.pair]\nallow-remove = true\n")
        let refused = try Finished(list, surroundings)
        #expect(refused.end == .exited(2) && refused.output.isEmpty)
        #expect(refused.errors.contains("\(file): is not trusted: it is in '"), "\(refused.errors)")
        #expect(try Finished(list + ["--insecure-permissions"], surroundings).end == .exited(0))
    }

    /// A user who can write the list of known servers can impersonate all of them.
    @Test func aListOfServersThatOthersCanWriteIsNotBelieved() throws {
        let list = home.path("config/transfer/known_servers")
        try writeFile(list, [])
        #expect(chmod(list, 0o666) == 0)
        let refused = try Finished(["trust", "list"], surroundings)
        #expect(
            refused.end != .exited(0) && refused.errors.contains("is not trusted: it can be written by other users"))
        #expect(try Finished(["trust", "list", "--insecure-permissions"], surroundings).end == .exited(0))
        #expect(chmod(list, 0o600) == 0)
        #expect(try Finished(["trust", "list"], surroundings).end == .exited(0))
    }

    @Test func aPushIsSetUpByEnvironmentAndFile() throws {
        let server = try RunningServer()
        try write("[push]\nplaintext = true\nname = 'from-file'\njson = true\nto = '\(server.address)/f'\n")
        let push = try Finished(["push", "--text", "x"], surroundings)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(try push.object()["storedPath"] == "f/from-file")
        var environment = surroundings
        environment.environment["TRANSFER_PUSH_NAME"] = "from-environment"
        environment.environment["TRANSFER_PUSH_JSON"] = "false"
        let other = try Finished(["push", "--text", "x"], environment)
        #expect(other.end == .exited(0) && !other.output.hasPrefix("{"))
        #expect(server.visibleFiles == ["f/from-environment", "f/from-file"])
    }

    @Test func showTellsWhereEverythingComesFrom() throws {
        try write("[push]\nlanes = 3\nto = 'home'\n[remote.home]\naddress = 'h:1'\nplaintext = true\n")
        var surroundings = surroundings
        surroundings.environment["TRANSFER_PUSH_DIGEST"] = "sha256"
        let code = "transfer://h#code=pair_01234567_01234567012345670123456701234567"
        surroundings.environment["TRANSFER_PUSH_NAME"] = code
        let show = try Finished(["config", "show", "push", "--quiet"], surroundings)
        #expect(show.end == .exited(0) && show.errors == "")
        for (text, origin) in [
            ("lanes = \"3\"", "\(file):2"), ("to = \"home\"", "\(file):3"),
            ("plaintext = true", "remote home, \(file):6"),
            ("digest = \"sha256\"", "TRANSFER_PUSH_DIGEST"), ("quiet = true", "command line"),
            ("compress = \"auto\"", "default"), ("# receipts", "not set"),
            ("name = \"(secret)\"", "TRANSFER_PUSH_NAME"),
        ] {
            #expect(show.lines.contains { $0.hasPrefix(text + " ") && $0.hasSuffix("  # \(origin)") }, "\(text)")
        }
        // The printed settings form a valid configuration file.
        try write(show.output)
        #expect(
            try Finished(["config", "show"], Surroundings(environment: ["XDG_CONFIG_HOME": home.path("config")])).end
                == .exited(0))
    }

    @Test func showHasJSON() throws {
        try write("[serve]\nlisten = ['a:1', 'b:2']\n")
        let show = try Finished(["config", "show", "--json"], surroundings)
        let listen = "\"command\":\"serve\",\"flag\":\"listen\",\"value\":[\"a:1\",\"b:2\"],"
        let place = "\"variable\":null,\"file\":\"\(file)\",\"line\":2,\"remote\":null}\n"
        #expect(show.output.contains("\(listen)\"origin\":\"file\",\(place)"))
        let quiet = "\"command\":\"push\",\"flag\":\"quiet\",\"value\":false,\"origin\":\"default\","
        #expect(show.output.contains(quiet))
    }

    @Test(arguments: [
        ("[push]\nlnes = 2\n", ":2: unknown key 'lnes'; did you mean 'lanes'?"),
        ("[push]\n\nlanes\n", ":3:6: '=' is missing"),
    ])
    func whatIsWrongIsNamed(_ text: String, message: String) throws {
        try write(text)
        for arguments in [["push", "x"], ["serve"], ["config", "show"]] {
            let finished = try Finished(arguments, surroundings)
            #expect(finished.end == .exited(2) && finished.errors.hasPrefix("transfer: \(file)\(message)\n"))
        }
        for arguments in [["push", "--help"], ["help", "push"], ["trust", "list"], ["--version"]] {
            #expect(try Finished(arguments, surroundings).end == .exited(0))
        }
    }

    /// If the configuration were in the server's directory, every client with the right to push could change it.
    @Test func noServerIsSetUpByItsClients() throws {
        try write("[serve]\nopen = true\n")
        let serve = try Finished(["serve", "--dir", home.path("config"), "--listen", "127.0.0.1:0"], surroundings)
        #expect(serve.end == .exited(2) && serve.errors.contains("is in the directory that clients write to; move it"))
    }

    /// Services without a home directory often have a path such as /dev/null in `HOME`.
    @Test func aHomeMayBeNoFolder() throws {
        let finished = try Finished(["config", "show", "push"], Surroundings(environment: ["HOME": "/dev/null"]))
        #expect(finished.end == .exited(0), "\(finished.errors)")
    }

    @Test func aFileMustBeAFile() throws {
        try makeDirectory(file)
        let push = try Finished(["push", "x"], surroundings)
        #expect(
            push.end == .exited(2) && push.errors.hasPrefix("transfer: \(file): cannot be read: "), "\(push.errors)")
    }
}
