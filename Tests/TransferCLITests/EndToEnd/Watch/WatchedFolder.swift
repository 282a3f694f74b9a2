import Glibc
import TransferTestSupport

/// A directory named `card` to watch, beside a home for the journals of a watch.
struct WatchedFolder {
    let files: BatchFiles

    /// - Parameter names: names of the files in the directory; the content of each is its path from the parent.
    init(_ names: [String] = []) throws {
        files = try BatchFiles(names.map { "card/\($0)" })
        if names.isEmpty { try makeDirectory(path) }
    }

    var path: String { files.home.path("card") }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Adds a file whose content is its path from the parent.
    func add(_ name: String) throws { try files.add("card/\(name)") }

    /// Paths of the files in the directory.
    var names: [String] { TransferCLITests.files(below: path) }

    /// Folder in which a watch records the acknowledged files.
    var journals: String { files.home.path(".config/transfer/watches") }

    var surroundings: Surroundings {
        var surroundings = files.here
        surroundings.environment["HOME"] = files.home.path
        return surroundings
    }

    /// Starts `transfer watch` with a settle time of a tenth of a second, and waits until it watches.
    func watching(_ server: RunningServer, _ flags: String...) throws -> Program {
        let program = try Program(Self.arguments(server.address) + flags, surroundings)
        try program.waitForError("watching card, known to be stored: ")
        return program
    }

    /// Runs `transfer watch --once` to its end.
    func once(_ server: RunningServer, _ flags: String...) throws -> Finished {
        try Finished(Self.arguments(server.address) + ["--once"] + flags, surroundings)
    }

    static func arguments(_ address: String) -> [String] {
        ["watch", "card", "--to", address, "--plaintext", "--settle", "100ms"]
    }
}

extension Program {
    /// Waits until standard output has that many lines.
    func waitForLines(_ count: Int) throws {
        try waitForOutput("\n") { $0.utf8.filter { $0 == UInt8(ascii: "\n") }.count >= count }
    }

    /// Stops the watch and waits for its end.
    func stopped() throws -> Finished {
        signal(SIGTERM)
        return try Finished(self)
    }
}

func renameFile(_ old: String, _ new: String) throws {
    guard rename(old, new) == 0 else { throw Program.Failure(description: "rename \(old): errno \(errno)") }
}
