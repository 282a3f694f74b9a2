import Glibc
import TransferKeys
import TransferTestSupport

/// A server that knows alice and bob by name, and their clients.
struct Correspondence {
    let server: SecureServer

    /// Directory in the server's home that bob receives into.
    let inbox: String

    private let environment: [String: String]

    /// - Parameters:
    ///   - flags: additional flags of the server.
    ///   - earlier: a correspondence whose home this one continues to use.
    ///   - environment: additional environment variables of the clients.
    init(_ flags: [String] = [], after earlier: Correspondence? = nil, environment: [String: String] = [:]) throws {
        self.environment = environment
        server = try SecureServer(flags, in: earlier?.server.home, user: "operator")
        inbox = server.home.path("in")
        if earlier == nil {
            try makeDirectory(inbox)
            try makeDirectory(server.home.path("files"))
        }
        for name in ["alice", "bob"] {
            if earlier == nil { _ = try server.access(["add", "--name", name, server.key(of: name)]) }
            let finished = try ask(name, ["whoami", "--trust-new"])
            guard finished.end == .exited(0) else { throw Program.Failure(description: finished.errors) }
        }
    }

    private var to: [String] { ["--to", server.address] }

    /// Path of one of alice's files.
    func file(_ name: String) -> String { server.home.path("files/\(name)") }

    func ask(_ name: String, _ arguments: [String]) throws -> Finished { try Finished(start(name, arguments)) }

    func start(_ name: String, _ arguments: [String]) throws -> Program {
        try Program(arguments + to, server.surroundings(environment, user: name))
    }

    /// Sends some of alice's files to bob, sealed by default.
    func send(_ names: [String], _ flags: [String] = ["--seal"]) throws {
        let finished = try ask("alice", ["push"] + names.map { file($0) } + ["--for", "bob"] + flags)
        guard finished.end == .exited(0) else { throw Program.Failure(description: finished.errors) }
    }

    func receive(_ flags: [String] = []) throws -> Finished { try ask("bob", ["receive", inbox] + flags) }

    /// The files that bob has received.
    var received: [String] { files(below: inbox) }

    /// Fingerprint of a user's key, as the server knows it.
    func fingerprint(of name: String) throws -> String {
        try ask(name, ["whoami", "--json"]).object()["fingerprint"] ?? ""
    }

    /// Bob's list of known people.
    var knownPeople: String { server.home.path("bob/transfer/known_people") }

    var sealingKey: String { server.home.path("bob/transfer/sealing.key") }
}
