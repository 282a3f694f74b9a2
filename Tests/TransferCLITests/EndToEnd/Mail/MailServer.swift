import Glibc
import TransferTestSupport

/// `transfer serve` with users, and their clients.
struct MailServer {
    let server: SecureServer

    init(_ people: [String] = ["alice", "bob"]) throws {
        server = try SecureServer(["--log-level", "debug"], user: "operator")
        for name in people { try admit(name, as: name) }
    }

    /// Admits a user under a name.
    func admit(_ user: String, as name: String) throws {
        _ = try server.access(["add", try server.key(of: user), "--name", name])
    }

    var home: TemporaryDirectory { server.home }

    /// Folder with the keys and lists of a user.
    func folder(of user: String) -> String { home.path("\(user)/transfer") }

    /// Runs a command as a user, to its end.
    func run(_ arguments: [String], as user: String) throws -> Finished { try Finished(start(arguments, as: user)) }

    func start(
        _ arguments: [String], as user: String, input: Surroundings.Stream = .file("/dev/null")
    ) throws -> Program {
        var surroundings = server.surroundings(user: user)
        surroundings.input = input
        return try Program(arguments + ["--to", server.address, "--trust-new"], surroundings)
    }

    /// Contents of the deliveries that wait on the server.
    var stored: [[UInt8]] {
        get throws {
            let folder = "\(server.directory)/.transfer/mail"
            return try files(below: folder).map { try readFile("\(folder)/\($0)") }
        }
    }
}

/// age(1) as Debian packages it: a file that age opens has the right format.
enum Age {
    /// Whether age is installed; `scripts/bootstrap.sh --tests` installs it.
    static let isHere = access("/usr/bin/age", X_OK) == 0

    /// Opens sealed content with a file of keys.
    static func open(_ sealed: [UInt8], with keys: String, in home: TemporaryDirectory) throws -> [UInt8] {
        let (input, output) = (home.path("age.in"), home.path("age.out"))
        try writeFile(input, sealed)
        let code = try ChildLaunch.shell("/usr/bin/age -d -i '\(keys)' -o '\(output)' '\(input)'")
        guard code == 0 else { throw Program.Failure(description: "age: \(code)") }
        return try readFile(output)
    }
}
