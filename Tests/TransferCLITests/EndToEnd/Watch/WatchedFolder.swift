import Glibc
import TransferTestSupport

/// A directory named `card` to watch, beside a home for what a watch remembers.
struct WatchedFolder {
    let files: BatchFiles

    /// - Parameter names: of files in the directory, each with its path from its parent as content.
    init(_ names: [String] = []) throws {
        files = try BatchFiles(names.map { "card/\($0)" })
        if names.isEmpty { try makeDirectory(path) }
    }

    /// The directory itself.
    var path: String { files.home.path("card") }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    /// A file in it with its path from its parent as content.
    func add(_ name: String) throws { try files.add("card/\(name)") }

    /// Paths of the files that are in it.
    var names: [String] { TransferCLITests.files(below: path) }

    /// Where a watch keeps what was acknowledged.
    var journals: String { files.home.path(".config/transfer/watches") }

    var surroundings: Surroundings {
        var surroundings = files.here
        surroundings.environment["HOME"] = files.home.path
        return surroundings
    }

    /// Starts `transfer watch`, in which files rest for a tenth of a second, and waits until it watches.
    func watching(_ server: RunningServer, _ flags: String...) throws -> Program {
        let program = try Program(Self.arguments(server.address) + flags, surroundings)
        try program.waitForError("watching card, known to be stored: ")
        return program
    }

    /// Runs it to its end, with `--once`.
    func once(_ server: RunningServer, _ flags: String...) throws -> Finished {
        try Finished(Self.arguments(server.address) + ["--once"] + flags, surroundings)
    }

    static func arguments(_ address: String) -> [String] {
        ["watch", "card", "--to", address, "--plaintext", "--settle", "100ms"]
    }
}

extension Program {
    /// Waits until it has said so many lines on standard output.
    func waitForLines(_ count: Int) throws {
        try waitForOutput("\n") { $0.utf8.filter { $0 == UInt8(ascii: "\n") }.count >= count }
    }

    /// Asks it to stop and waits for the end.
    func stopped() throws -> Finished {
        signal(SIGTERM)
        return try Finished(self)
    }
}

func renameFile(_ old: String, _ new: String) throws {
    guard rename(old, new) == 0 else { throw Program.Failure(description: "rename \(old): errno \(errno)") }
}
