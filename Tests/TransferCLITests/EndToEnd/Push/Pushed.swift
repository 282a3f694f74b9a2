import TransferTestSupport

/// A server that has stored some files, and the receipts that it gave.
struct Pushed {
    static let names = ["a", "b", "c", "long", "odd \"name\"\n"]

    let server: RunningServer
    let home: TemporaryDirectory

    /// Path of the file with the receipts.
    let receipts: String

    /// The fingerprint that the server logged.
    let fingerprint: String

    init() throws {
        server = try RunningServer()
        fingerprint = try Self.fingerprint(of: server)
        home = try TemporaryDirectory()
        receipts = home.path("receipts.jsonl")
        try makeDirectory(home.path("in"))
        for name in Self.names {
            try writeFile(home.path("in/\(name)"), randomBytes(name == "long" ? 10_000_000 : 100, seed: 3))
        }
        let push = try server.push([home.path("in"), "--receipts", receipts])
        guard push.end == .exited(0) else { throw Program.Failure(description: push.errors) }
    }

    var lines: [Substring] {
        get throws { try String(decoding: readFile(receipts), as: UTF8.self).split(separator: "\n") }
    }

    /// The server's public key in hexadecimal digits, as in receipts.
    var key: String {
        get throws {
            let rest = try lines.first?.split(separator: "\"server\":\"").last ?? ""
            return String(rest.prefix(64))
        }
    }

    func verify(_ flags: [String]) throws -> Finished { try Finished(["receipt", "verify", receipts] + flags) }

    static func fingerprint(of server: RunningServer) throws -> String {
        let log = try server.program.waitForError("SHA256:")
        let rest = log.split(separator: "SHA256:", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        return "SHA256:" + rest.prefix { $0 != "\n" }
    }
}
