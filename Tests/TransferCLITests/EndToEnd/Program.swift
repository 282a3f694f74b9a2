import Glibc
import TransferSystem

/// The program under test as a process of its own, as a script would start it. It is killed when nobody holds the
/// object any more. Every wait has an end.
final class Program: Sendable {
    /// Something that was waited for did not happen.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// How it ended.
    enum End: Equatable {
        case exited(Int32)
        case killed(by: Int32)
    }

    /// Far more than anything here takes, even on a busy machine under a sanitizer.
    static let patience = 60

    let process: pid_t
    private let output: StreamReader
    private let errors: StreamReader
    /// Ends when the process does, also where it has no other stream left.
    private let life: StreamReader
    private let input: Locked<Int32?>
    private let end = Locked<End?>(nil)

    /// Starts it.
    init(_ arguments: [String], _ surroundings: Surroundings = Surroundings()) throws {
        let spawned = try Spawner(surroundings).spawn(arguments)
        process = spawned.process
        input = Locked(spawned.input)
        output = try StreamReader(spawned.output)
        errors = try StreamReader(spawned.errors)
        life = try StreamReader(spawned.life)
    }

    deinit {
        closeInput()
        guard end.withLock({ $0 == nil }) else { return }
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
        // What it has started ends with it, a little later, and must not write to a directory that is being removed.
        _ = life.waitForEnd()
    }

    /// What it has written to standard output so far.
    var outputText: String { String(decoding: output.bytes, as: UTF8.self) }

    /// What it has written to standard error so far.
    var errorText: String { String(decoding: errors.bytes, as: UTF8.self) }

    func signal(_ number: Int32) {
        kill(process, number)
    }

    /// Waits for the end.
    func wait() throws -> End {
        if let ended = end.withLock({ $0 }) { return ended }
        guard life.waitForEnd(), output.waitForEnd(), errors.waitForEnd() else {
            throw failure("the process did not end")
        }
        var status: Int32 = 0
        guard waitpid(process, &status, 0) == process else { throw failure("waitpid: errno \(errno)") }
        let ended: End = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: status & 0x7F)
        end.withLock { $0 = ended }
        return ended
    }

    /// Waits until standard error holds the text, and what else is asked of it.
    ///
    /// - Returns: all of standard error.
    @discardableResult
    func waitForError(_ text: String, where condition: (String) -> Bool = { _ in true }) throws -> String {
        guard errors.wait(for: { $0.contains(text) && condition($0) }) else {
            throw failure("'\(text)' did not appear")
        }
        return errorText
    }

    /// Waits until standard output holds the text, and what else is asked of it.
    func waitForOutput(_ text: String, where condition: (String) -> Bool = { _ in true }) throws {
        guard output.wait(for: { $0.contains(text) && condition($0) }) else {
            throw failure("'\(text)' did not appear")
        }
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

    /// Types a line at the terminal that standard error is.
    func type(_ line: String) throws {
        guard errors.write(Array("\(line)\n".utf8)) else { throw failure("nothing can be typed: errno \(errno)") }
    }

    /// Gives the terminal that standard error is another width.
    func resize(columns: UInt16) throws {
        guard errors.resize(columns: columns) else { throw failure("the terminal keeps its width: errno \(errno)") }
    }

    /// Ends standard input.
    func closeInput() {
        input.withLock { number in
            if let number { close(number) }
            number = nil
        }
    }

    private func poll(_ number: Int32, _ events: Int32) throws {
        var waiting = pollfd(fd: number, events: Int16(events), revents: 0)
        guard Glibc.poll(&waiting, 1, Int32(Self.patience) * 1000) == 1 else {
            throw failure("the process did not read its standard input")
        }
    }

    private func failure(_ what: String) -> Failure {
        Failure(description: "\(what)\nstandard output:\n\(outputText)\nstandard error:\n\(errorText)")
    }
}
