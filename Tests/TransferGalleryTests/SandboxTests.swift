import Glibc
import Testing
import TransferSystem
import TransferTestSupport

/// What a decoder can still do once it is confined, tried by a program that tries it.
@Suite struct SandboxTests {
    /// Runs the program with a file to read and memory to write into.
    private static func run(_ action: String, _ options: String...) throws -> (end: ChildProcess.End, output: [UInt8]) {
        let folder = try TemporaryDirectory()
        let path = folder.path("input")
        try #require(writeFile([UInt8](repeating: 3, count: 100), to: path))
        let input = Descriptor(open(path, O_RDONLY | O_CLOEXEC))
        let output = try fixedMemoryFile(size: 1 << 20)
        let process = try ChildProcess(
            running: [try Decoders.probe(), action] + options, environment: [],
            descriptors: [input.number, output.number])
        let end = try #require(process.waitForEnd())
        var bytes = [UInt8](repeating: 0, count: 10)
        pread(output.number, &bytes, bytes.count, 0)
        return (end, bytes)
    }

    @Test(arguments: ["read", "write", "memory", "sort"]) func whatItNeedsIsAllowed(_ action: String) throws {
        let (end, output) = try Self.run(action)
        #expect(end == .exited(0))
        if action == "write" { #expect(output == Array("some bytes".utf8)) }
    }

    /// The kernel kills it at the first other system call.
    @Test(arguments: [
        "open", "socket", "execute", "thread", "process", "code", "writable code", "signal", "longer file", "poison",
    ])
    func everythingElseKillsIt(_ action: String) throws {
        #expect(try Self.run(action).end == .killed(by: SIGSYS))
    }

    /// Codecs of HEIC and AVIF start threads.
    @Test func threadsAreAllowedWhereTheyAreNeeded() throws {
        #expect(try Self.run("thread", "with threads").end == .exited(0))
    }

    @Test(arguments: [
        "open", "socket", "execute", "thread that opens", "process", "code", "writable code", "signal", "longer file",
    ])
    func threadsAllowNothingElse(_ action: String) throws {
        #expect(try Self.run(action, "with threads").end == .killed(by: SIGSYS))
    }

    /// The signal of the limit cannot be ignored, so the process does not live on for a second.
    @Test func theSignalOfTheLimitStays() throws {
        #expect(try Self.run("endless in spite of the signal", "with threads").end == .killed(by: SIGXCPU))
    }

    @Test func itHasNoOtherDescriptor() throws { #expect(try Self.run("descriptor").end == .exited(1)) }

    @Test func itsMemoryIsLimited() throws { #expect(try Self.run("too much memory").end == .exited(1)) }

    @Test func itsTimeIsLimited() throws { #expect(try Self.run("endless").end == .killed(by: SIGXCPU)) }

    @Test func itsOutputIsLimited() throws {
        // A shorter write, or the end.
        let end = try Self.run("too much output").end
        #expect(end == .exited(1) || end == .killed(by: SIGXFSZ))
    }

    /// A supervisor that is the first process of a container inherits the helpers of killed workers.
    @Test func inheritedProcessesAreReaped() throws { #expect(try Self.run("reap").end == .exited(0)) }

    @Test func aTrapEndsIt() throws {
        guard case .killed = try Self.run("trap").end else {
            Issue.record("it did not end")
            return
        }
    }
}
