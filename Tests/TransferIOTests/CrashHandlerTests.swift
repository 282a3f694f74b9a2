import Glibc
import Testing
import TransferSystem

/// The report that a crashing process writes.
@Suite struct CrashHandlerTests {
    @Test func aTrapSaysWhereItWas() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try CrashHandler.install(writingTo: 2)
            preconditionFailure("on purpose")
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        let frames = text.split(separator: "\n").filter { $0.hasPrefix("  0x") }
        #expect(frames.count > 1, "\(text)")
        #expect(text.contains("\ncode in memory:\n") && text.contains(" r-xp "), "\(text)")
    }

    /// Invalid addresses end the list of frames, but not the report.
    @Test func aBrokenStackEndsTheListOnly() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try CrashHandler.install(writingTo: 2)
            raise(SIGSEGV)
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(text.contains("backtrace:\n  0x") && text.contains(" r-xp "), "\(text)")
    }

    @Test func otherFilesAreNone() throws {
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        for number in [-1, STDOUT_FILENO, file] { #expect(!CrashHandler.isFile(number)) }
    }

    @Test func whatIsWrittenCanBeReadByTheOtherSide() throws {
        let file = try CrashHandler.makeFile()
        #expect(CrashHandler.report(in: file).isEmpty)
        let number = file.number
        #expect(CrashHandler.isFile(number))
        #expect(write(number, "some words", 10) == 10)
        #expect(CrashHandler.report(in: file) == Array("some words".utf8))
        // A broken process cannot fill the memory of the machine with its report.
        #expect(ftruncate(number, off_t(CrashHandler.longestReport) + 1) != 0 && errno == EPERM)
        let more = [UInt8](repeating: 1, count: 2 * CrashHandler.longestReport)
        while write(number, more, more.count) > 0 {}
        #expect(CrashHandler.report(in: file).count == CrashHandler.longestReport)
    }
}
