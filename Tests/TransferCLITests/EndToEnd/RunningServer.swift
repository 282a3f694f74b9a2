import Glibc
import TransferTestSupport

/// `transfer serve` on a free port of this machine, with a directory of its own.
final class RunningServer {
    let program: Program

    /// As `--to` takes it.
    let address: String

    /// Where it stores.
    let directory: String

    let home: TemporaryDirectory

    /// What is in the directory of a server that has stored nothing.
    static let ownFiles = [".transfer/identity.pem", ".transfer/lock"]

    /// Starts it and waits until it listens.
    ///
    /// - Parameters:
    ///   - home: to have the storage in; that of an earlier server to go on with what it stored.
    ///   - address: where to listen.
    ///   - hasTrash: whether the server decides by its directory whether it has a trash. Otherwise it has none, unless `flags` say so:
    ///     most tests are about something else, and look at all that is in the directory.
    init(
        _ flags: [String] = [], in home: TemporaryDirectory? = nil, at address: String = "127.0.0.1:0",
        _ surroundings: Surroundings = Surroundings(), hasTrash: Bool = false
    ) throws {
        self.home = try home ?? TemporaryDirectory()
        directory = self.home.path("stored")
        program = try Program(
            ["serve", "--dir", directory, "--listen", address, "--plaintext"]
                + (home != nil || hasTrash || flags.contains("--trash") ? [] : ["--no-trash"]) + flags, surroundings)
        self.address = try Self.address(program)
    }

    /// The process that serves; nothing while there is none. The one that was started only supervises it.
    var worker: pid_t? { program.worker }

    /// Waits for a process that serves.
    ///
    /// - Parameter last: one that does no longer.
    func waitForWorker(after last: pid_t? = nil) throws -> pid_t { try program.waitForWorker(after: last) }

    /// Waits until the server says where it listens.
    static func address(_ program: Program) throws -> String {
        let words = "listening on "
        // The whole line must be there, not the first digits of the port.
        let log = try program.waitForError(words) { $0.split(separator: words).last?.contains("\n") ?? false }
        let line = log.split(separator: words).last?.split(separator: "\n").first ?? ""
        return String(line)
    }

    /// Kills the server and starts another one that goes on in its place, on the same port.
    func restarted() throws -> RunningServer {
        program.signal(SIGKILL)
        _ = try program.wait()
        return try RunningServer(in: home, at: address)
    }

    /// Runs `transfer push` to its end.
    func push(
        _ arguments: [String], to folder: String = "", _ surroundings: Surroundings = Surroundings()
    ) throws -> Finished {
        try Finished(startPush(arguments, to: folder, surroundings))
    }

    /// Starts `transfer push`.
    func startPush(
        _ arguments: [String], to folder: String = "", _ surroundings: Surroundings = Surroundings()
    ) throws -> Program {
        try Program(["push"] + arguments + ["--plaintext", "--to", address + folder], surroundings)
    }

    /// The paths of all files that can be seen, relative to the directory and sorted.
    /// What uploads have left in the server's own folder.
    var leftovers: [String] { files(below: directory + "/.transfer/incoming") }

    var visibleFiles: [String] { files(below: directory).filter { !$0.hasPrefix(".transfer/") } }

    /// Bytes of a file that is stored.
    func stored(_ path: String) throws -> [UInt8] { try readFile("\(directory)/\(path)") }
}

/// A program that ran to its end.
struct Finished {
    let end: Program.End
    let output: String
    let errors: String

    /// Waits for the end.
    init(_ program: Program) throws {
        end = try program.wait()
        output = program.outputText
        errors = program.errorText
    }

    /// Runs it.
    init(_ arguments: [String], _ surroundings: Surroundings = Surroundings()) throws {
        try self.init(Program(arguments, surroundings))
    }

    /// Runs it again and again, a bounded number of times, as long as it ends like that.
    init(_ arguments: [String], retryingWhile end: Program.End) throws {
        var finished = try Finished(arguments)
        for _ in 0..<1_000 where finished.end == end { finished = try Finished(arguments) }
        self = finished
    }

    var lines: [Substring] { output.split(separator: "\n") }

    /// The lines of `--json`.
    func objects() throws -> [JSONObject] { try lines.map { try JSONObject($0) } }

    /// The one line of `--json`.
    func object() throws -> JSONObject {
        let objects = try objects()
        guard objects.count == 1 else {
            throw Program.Failure(description: "\(objects.count) lines instead of one; standard error:\n\(errors)")
        }
        return objects[0]
    }
}
