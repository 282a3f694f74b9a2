import Glibc
import TransferTestSupport

/// `transfer serve` on a free port of this machine, with its own directory.
final class RunningServer {
    let program: Program

    /// The address in the form that `--to` takes.
    let address: String

    /// The directory that the server stores files in.
    let directory: String

    let home: TemporaryDirectory

    /// The files in the directory of a server that has stored nothing.
    static let ownFiles = [".transfer/identity.pem", ".transfer/lock"]

    /// Starts the server and waits until it listens.
    ///
    /// - Parameters:
    ///   - home: where to create the server's directory; the home of an earlier server to continue with its files.
    ///   - address: address to listen on.
    ///   - hasTrash: whether the server chooses by its directory whether to have a trash. Otherwise it has none unless
    ///     `flags` enable it: most tests are about other features and look at all files in the directory.
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

    /// The process that serves; nil while there is no such process. The process that was started only supervises it.
    var worker: pid_t? { program.worker }

    /// Waits for a process that serves.
    ///
    /// - Parameter last: an earlier worker, which has ended or is about to.
    func waitForWorker(after last: pid_t? = nil) throws -> pid_t { try program.waitForWorker(after: last) }

    /// Waits until the server logs its address.
    static func address(_ program: Program) throws -> String {
        let words = "listening on "
        // The whole line must have arrived, and not only the first digits of the port.
        let log = try program.waitForError(words) { $0.split(separator: words).last?.contains("\n") ?? false }
        let line = log.split(separator: words).last?.split(separator: "\n").first ?? ""
        return String(line)
    }

    /// Kills the server and starts another one with the same directory and port.
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

    /// Starts `transfer push` without waiting.
    func startPush(
        _ arguments: [String], to folder: String = "", _ surroundings: Surroundings = Surroundings()
    ) throws -> Program {
        try Program(["push"] + arguments + ["--plaintext", "--to", address + folder], surroundings)
    }

    /// Files that uploads have left in the server's own folder.
    var leftovers: [String] { files(below: directory + "/.transfer/incoming") }

    /// Paths of the files outside the server's own folder, relative to the directory and sorted.
    var visibleFiles: [String] { files(below: directory).filter { !$0.hasPrefix(".transfer/") } }

    /// Content of a stored file.
    func stored(_ path: String) throws -> [UInt8] { try readFile("\(directory)/\(path)") }
}

/// A program that ran to its end.
struct Finished {
    let end: Program.End
    let output: String
    let errors: String

    /// Waits for the program to end.
    init(_ program: Program) throws {
        end = try program.wait()
        output = program.outputText
        errors = program.errorText
    }

    /// Runs the program to its end.
    init(_ arguments: [String], _ surroundings: Surroundings = Surroundings()) throws {
        try self.init(Program(arguments, surroundings))
    }

    /// Runs the program repeatedly, at most 1,000 times, while it ends in the way `end`.
    init(_ arguments: [String], retryingWhile end: Program.End) throws {
        var finished = try Finished(arguments)
        for _ in 0..<1_000 where finished.end == end { finished = try Finished(arguments) }
        self = finished
    }

    var lines: [Substring] { output.split(separator: "\n") }

    /// The objects that `--json` printed.
    func objects() throws -> [JSONObject] { try lines.map { try JSONObject($0) } }

    /// The only object that `--json` printed.
    func object() throws -> JSONObject {
        let objects = try objects()
        guard objects.count == 1 else {
            throw Program.Failure(description: "\(objects.count) lines instead of one; standard error:\n\(errors)")
        }
        return objects[0]
    }
}
