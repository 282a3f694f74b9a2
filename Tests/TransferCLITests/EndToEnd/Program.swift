import Glibc
import TransferSystem
import TransferTestSupport

/// The program under test as a separate process, as a script would start it. Releasing the object kills the process and
/// all its children. Every wait has a time limit, and its failure reports the state of the processes.
final class Program: Sendable {
    /// A condition that did not become true in time.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The way in which a process ended.
    enum End: Equatable {
        case exited(Int32)
        case killed(by: Int32)

        init(_ end: Child.End) {
            self =
                switch end {
                case .exited(let code): .exited(code)
                case .killed(let signal): .killed(by: signal)
                }
        }
    }

    /// Seconds that a wait may take at most.
    static let patience = Child.patience

    var process: pid_t { child.process }
    private let child: Child
    private let output: StreamReader
    private let errors: StreamReader
    private let input: Locked<Int32?>

    init(_ arguments: [String], _ surroundings: Surroundings = Surroundings()) throws {
        let spawned = try Spawner(surroundings).spawn(arguments)
        child = spawned.child
        input = Locked(spawned.input)
        output = try StreamReader(spawned.output)
        errors = try StreamReader(spawned.errors)
    }

    deinit {
        closeInput()
        // Child processes must not write to a directory that is being removed.
        child.endAll()
    }

    /// The standard output of the process so far.
    var outputText: String { String(decoding: output.bytes, as: UTF8.self) }

    /// The standard error of the process so far.
    var errorText: String { String(decoding: errors.bytes, as: UTF8.self) }

    func signal(_ number: Int32) {
        child.signal(number)
    }

    /// Whether the process has ended, or ends within that time.
    func hasEnded(within milliseconds: Int32) -> Bool { child.hasEnded(within: milliseconds) }

    /// Waits until the process and its children have ended.
    func wait() throws -> End {
        do {
            let end = End(try child.wait())
            // No other process has the other ends of the streams.
            guard output.waitForEnd(), errors.waitForEnd() else { throw failure("its streams did not end") }
            return end
        } catch let error as ChildLaunch.Failure {
            throw failure(error.description)
        }
    }

    /// Waits until standard error contains the text and fulfills the condition.
    ///
    /// - Returns: the whole standard error.
    @discardableResult
    func waitForError(_ text: String, where condition: (String) -> Bool = { _ in true }) throws -> String {
        guard errors.wait(for: { $0.contains(text) && condition($0) }) else { throw missing(text, in: errors) }
        return errorText
    }

    /// Waits until standard output contains the text and fulfills the condition.
    func waitForOutput(_ text: String, where condition: (String) -> Bool = { _ in true }) throws {
        guard output.wait(for: { $0.contains(text) && condition($0) }) else { throw missing(text, in: output) }
    }

    /// Writes to standard input, which must be a pipe.
    func write(_ bytes: some Collection<UInt8>) throws {
        guard let number = input.withLock({ $0 }) else { throw failure("standard input is not a pipe") }
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            try poll(number, POLLOUT)
            let written = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EAGAIN else { throw failure("write: errno \(errno)") }
            rest = rest.dropFirst(max(0, written))
        }
    }

    /// Types a line at the terminal that is standard error.
    func type(_ line: String) throws {
        guard errors.write(Array("\(line)\n".utf8)) else { throw failure("nothing can be typed: errno \(errno)") }
    }

    /// Changes the width of the terminal that is standard error.
    func resize(columns: UInt16) throws {
        guard errors.resize(columns: columns) else { throw failure("the terminal keeps its width: errno \(errno)") }
    }

    func closeInput() {
        input.withLock { number in
            if let number { close(number) }
            number = nil
        }
    }

    private func poll(_ number: Int32, _ events: Int32) throws {
        var waiting = pollfd(fd: number, events: Int16(events), revents: 0)
        guard Glibc.poll(&waiting, 1, Int32(Self.patience) * 1000) == 1 else {
            throw failure("the process did not read its standard input\n\(child.report())")
        }
    }

    /// If the stream is still open, the report of the processes shows why the text is missing.
    private func missing(_ text: String, in stream: StreamReader) -> Failure {
        failure("'\(text)' did not appear" + (stream.isOver ? "" : "\n\(child.report())"))
    }

    private func failure(_ what: String) -> Failure {
        Failure(description: "\(what)\nstandard output:\n\(outputText)\nstandard error:\n\(errorText)")
    }
}
