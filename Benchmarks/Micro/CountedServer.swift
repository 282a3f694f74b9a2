import CAllocations
import Glibc
import TransferIO
import TransferServer
import TransferTestSupport

/// A server in a separate process, which reports on request how many allocations it has made so far.
///
/// The process runs this program again. It prints its port, then answers each line on standard input with a line, and
/// ends when its standard input ends.
final class CountedServer {
    /// The argument that makes the program a server; the directory follows it.
    static let argument = "--serve"

    let port: Int

    private let process: pid_t
    private let questions: Int32
    private let answers: UnsafeMutablePointer<FILE>

    init(directory: String) throws {
        var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&input) == 0, pipe(&output) == 0 else { throw BenchmarkFailure("There are no descriptors left.") }
        for descriptor in [input[1], output[0]] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        process = try Self.spawn([Self.argument, directory], input: input[0], output: output[1])
        close(input[0])
        close(output[1])
        guard let stream = fdopen(output[0], "r") else { throw BenchmarkFailure("There is no memory left.") }
        questions = input[1]
        answers = stream
        guard let line = Self.line(from: stream), let port = Int(line) else {
            throw BenchmarkFailure("The server did not start.")
        }
        self.port = port
    }

    deinit {
        close(questions)
        fclose(answers)
        waitpid(process, nil, 0)
    }

    /// Number of allocations since the server was started.
    func allocations() throws -> UInt64 {
        _ = write(questions, "\n", 1)
        guard let line = Self.line(from: answers), let count = UInt64(line) else {
            throw BenchmarkFailure("The server ended early.")
        }
        return count
    }

    private static func spawn(_ arguments: [String], input: Int32, output: Int32) throws -> pid_t {
        let launch = ChildLaunch(
            descriptors: [STDIN_FILENO: input, STDOUT_FILENO: output, STDERR_FILENO: STDERR_FILENO])
        return try launch.start(["/proc/self/exe"] + arguments)
    }

    private static func line(from stream: UnsafeMutablePointer<FILE>) -> String? {
        var buffer = [CChar](repeating: 0, count: 32)
        guard fgets(&buffer, Int32(buffer.count), stream) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 > 32 }.map { UInt8($0) }, as: UTF8.self)
    }
}

// MARK: The server's process

extension CountedServer {
    /// Serves clients until standard input ends.
    static func run(in directory: String) async throws {
        // The server formats and writes log lines like `transfer serve`, and /dev/null takes them.
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        let endpoint = Endpoint.internet(host: "127.0.0.1", port: 0)
        var configuration = ServerConfiguration(directory: directory, endpoints: [endpoint])
        configuration.security = .plaintext
        let server = try Server(configuration, log: Log(descriptor: nowhere))
        guard case .internet(_, let port)? = try await server.start().first else {
            throw BenchmarkFailure("The server does not listen.")
        }
        say(UInt64(port))
        while readLine() != nil { say(callocations_count()) }
        await server.shutDown()
    }

    private static func say(_ number: UInt64) {
        let line = Array("\(number)\n".utf8)
        _ = line.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
