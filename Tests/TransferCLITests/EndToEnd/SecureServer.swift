import TransferTestSupport

/// `transfer serve` with TLS, and clients with a list of known servers of their own.
final class SecureServer {
    let program: Program

    /// As `--to` takes it.
    let address: String

    let home: TemporaryDirectory

    /// - Parameters:
    ///   - home: of an earlier server, to go on with what it knew and stored.
    ///   - stored: the directory in it.
    init(
        _ flags: [String] = [], in home: TemporaryDirectory? = nil, stored: String = "stored",
        at address: String = "127.0.0.1:0"
    ) throws {
        self.home = try home ?? TemporaryDirectory()
        program = try Program(["serve", "--dir", self.home.path(stored), "--listen", address] + flags)
        self.address = try RunningServer.address(program)
    }

    /// As the server logged it last.
    var fingerprint: String {
        get throws {
            let log = try program.waitForError("SHA256:")
            return "SHA256:" + (log.split(separator: "SHA256:").last?.prefix { $0 != "\n" } ?? "")
        }
    }

    /// The clients' list of known servers.
    var list: String { home.path("config/transfer/known_servers") }

    /// What a client finds when it starts.
    func surroundings(_ more: [String: String] = [:]) -> Surroundings {
        var surroundings = Surroundings()
        surroundings.environment["XDG_CONFIG_HOME"] = home.path("config")
        for (name, value) in more { surroundings.environment[name] = value }
        return surroundings
    }

    /// Pushes a text as `note`.
    func push(
        _ flags: [String] = [], to address: String? = nil, _ environment: [String: String] = [:]
    ) throws -> Finished {
        try Finished(
            ["push", "--text", "hello", "--name", "note", "--to", address ?? self.address] + flags,
            surroundings(environment))
    }

    func trust(_ arguments: [String]) throws -> Finished { try Finished(["trust"] + arguments, surroundings()) }

    var storedFiles: [String] { files(below: home.path("stored")).filter { !$0.hasPrefix(".transfer/") } }

    func end() throws {
        program.signal(15)
        _ = try program.wait()
    }
}
