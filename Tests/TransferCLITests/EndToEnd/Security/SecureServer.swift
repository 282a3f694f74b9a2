import TransferTestSupport

/// `transfer serve` with TLS, and clients with separate configurations.
final class SecureServer {
    let program: Program

    /// The address in the form that `--to` takes.
    let address: String

    let home: TemporaryDirectory

    /// The directory that the server stores files in.
    let directory: String

    /// The user who runs the clients unless a test names another.
    static let client = "config"

    /// - Parameters:
    ///   - home: home of an earlier server, to continue with its keys and files.
    ///   - stored: name of the server's directory in the home.
    ///   - user: user who runs the server, by the name of a configuration; nil for a user without a home, whose server
    ///     then admits every client.
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

    /// The fingerprint that the server logged last.
    var fingerprint: String {
        get throws {
            let log = try program.waitForError("SHA256:")
            return "SHA256:" + (log.split(separator: "SHA256:").last?.prefix { $0 != "\n" } ?? "")
        }
    }

    /// The clients' list of known servers.
    var list: String { home.path("\(Self.client)/transfer/known_servers") }

    /// The surroundings of a client.
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

    /// Runs `transfer access` for the server's directory.
    func access(_ arguments: [String]) throws -> Finished {
        let finished = try Finished(["access"] + arguments + ["--dir", directory])
        guard finished.end == .exited(0) else { throw Program.Failure(description: finished.errors) }
        return finished
    }

    /// The line by which a server knows a user. Creates the user's key if necessary.
    func key(of user: String = SecureServer.client) throws -> String {
        String(try Finished(["key"], surroundings(user: user)).output.dropLast())
    }

    var storedFiles: [String] { files(below: directory).filter { !$0.hasPrefix(".transfer/") } }

    func end() throws {
        program.signal(15)
        _ = try program.wait()
    }
}
