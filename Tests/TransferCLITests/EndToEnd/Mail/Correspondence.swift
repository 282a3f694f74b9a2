import Glibc
import TransferKeys
import TransferTestSupport

/// A server that knows alice and bob by name, and their clients.
struct Correspondence {
    let server: SecureServer

    /// Where bob receives, in the server's home.
    let inbox: String

    private let environment: [String: String]

    /// - Parameters:
    ///   - flags: of the server.
    ///   - earlier: whose home it goes on in.
    ///   - environment: what clients find beside the usual.
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

    /// A file of alice's.
    func file(_ name: String) -> String { server.home.path("files/\(name)") }

    func ask(_ name: String, _ arguments: [String]) throws -> Finished { try Finished(start(name, arguments)) }

    func start(_ name: String, _ arguments: [String]) throws -> Program {
        try Program(arguments + to, server.surroundings(environment, user: name))
    }

    /// Has alice send files of hers, sealed for bob.
    func send(_ names: [String], _ flags: [String] = ["--seal"]) throws {
        let finished = try ask("alice", ["push"] + names.map { file($0) } + ["--for", "bob"] + flags)
        guard finished.end == .exited(0) else { throw Program.Failure(description: finished.errors) }
    }

    func receive(_ flags: [String] = []) throws -> Finished { try ask("bob", ["receive", inbox] + flags) }

    /// What bob has.
    var received: [String] { files(below: inbox) }

    /// Who somebody is, as the server knows the key.
    func fingerprint(of name: String) throws -> String {
        try ask(name, ["whoami", "--json"]).object()["fingerprint"] ?? ""
    }

    /// What is known of people at bob's.
    var knownPeople: String { server.home.path("bob/transfer/known_people") }

    var sealingKey: String { server.home.path("bob/transfer/sealing.key") }
}
