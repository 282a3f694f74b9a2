import TransferTestSupport

/// `transfer serve` with TLS, and clients with configurations of their own.
final class SecureServer {
    let program: Program

    /// As `--to` takes it.
    let address: String

    let home: TemporaryDirectory

    /// Where it stores.
    let directory: String

    /// Who runs the clients unless a test says otherwise.
    static let client = "config"

    /// - Parameters:
    ///   - home: of an earlier server, to go on with what it knew and stored.
    ///   - stored: the directory in it.
    ///   - user: who runs it, by the name of a configuration; nothing for a user without a home, whose server then lets
    ///     everybody in.
    init(
        _ flags: [String] = [], in home: TemporaryDirectory? = nil, stored: String = "stored",
        at address: String = "127.0.0.1:0", user: String? = nil
    ) throws {
        let home = try home ?? TemporaryDirectory()
        self.home = home
        directory = home.path(stored)
        let arguments = ["serve", "--dir", directory, "--listen", address] + flags + (user == nil ? ["--open"] : [])
        program = try Program(arguments, user.map { Self.surroundings(home, user: $0) } ?? Surroundings())
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
    var list: String { home.path("\(Self.client)/transfer/known_servers") }

    /// What a client finds when it starts.
    func surroundings(_ more: [String: String] = [:], user: String = SecureServer.client) -> Surroundings {
        var surroundings = Self.surroundings(home, user: user)
        for (name, value) in more { surroundings.environment[name] = value }
        return surroundings
    }

    private static func surroundings(_ home: TemporaryDirectory, user: String) -> Surroundings {
        var surroundings = Surroundings()
        surroundings.environment["XDG_CONFIG_HOME"] = home.path(user)
        return surroundings
    }

    /// Pushes a text as `note`.
    func push(
        _ flags: [String] = [], to address: String? = nil, _ environment: [String: String] = [:],
        user: String = SecureServer.client
    ) throws -> Finished {
        try Finished(
            ["push", "--text", "hello", "--name", "note", "--to", address ?? self.address] + flags,
            surroundings(environment, user: user))
    }

    func trust(_ arguments: [String]) throws -> Finished { try Finished(["trust"] + arguments, surroundings()) }

    /// Runs `transfer access` for its directory.
    func access(_ arguments: [String]) throws -> Finished {
        let finished = try Finished(["access"] + arguments + ["--dir", directory])
        guard finished.end == .exited(0) else { throw Program.Failure(description: finished.errors) }
        return finished
    }

    /// The line by which a server knows a user, whose key is made if need be.
    func key(of user: String = SecureServer.client) throws -> String {
        String(try Finished(["key"], surroundings(user: user)).output.dropLast())
    }

    var storedFiles: [String] { files(below: directory).filter { !$0.hasPrefix(".transfer/") } }

    func end() throws {
        program.signal(15)
        _ = try program.wait()
    }
}
