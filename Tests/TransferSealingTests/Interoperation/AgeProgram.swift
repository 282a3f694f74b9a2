import Glibc
import Testing
import TransferTestSupport

/// age(1) and age-keygen(1) of Debian: the format is what they open and make.
///
/// `scripts/bootstrap.sh --tests` installs them. Without them these tests fail: no other test shows that other programs
/// can open files that are sealed here.
struct AgeProgram {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let directory: TemporaryDirectory

    init(_ directory: TemporaryDirectory) {
        self.directory = directory
    }

    /// Runs `age` in its own directory, with paths relative to the directory.
    ///
    /// - Returns: the standard output.
    /// - Throws: an error with the program's message.
    func run(_ arguments: String...) throws -> [UInt8] {
        try start("age", arguments)
        return try content("output")
    }

    func makeKey(_ path: String) throws {
        try start("age-keygen", ["-o", path])
    }

    private func start(_ name: String, _ arguments: [String]) throws {
        let command = ([name] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let code = try ChildLaunch.shell("cd '\(directory.path)' && \(command) >output 2>said </dev/null")
        guard code != 0 else { return }
        let said = String(decoding: (try? content("said")) ?? [], as: UTF8.self)
        throw Failure(
            description: "\(command): status \(code): \(said) (127: scripts/bootstrap.sh --tests installs it)")
    }

    func content(_ name: String) throws -> [UInt8] {
        guard let file = fopen(directory.path(name), "r") else { throw Failure(description: "\(name): errno \(errno)") }
        defer { fclose(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { content += buffer[..<count] }
        return content
    }

    func write(_ content: [UInt8], to name: String) throws {
        guard let file = fopen(directory.path(name), "w") else { throw Failure(description: "\(name): errno \(errno)") }
        defer { fclose(file) }
        guard fwrite(content, 1, content.count, file) == content.count else {
            throw Failure(description: "\(name): short")
        }
    }
}
