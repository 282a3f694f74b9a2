import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferServer

@Suite struct CrashReportsTests {
    private static func directory() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        mkdir(directory.path(".transfer"), 0o700)
        return directory
    }

    private static func report(_ number: Int, _ signal: Int32 = SIGILL, words: String = "") -> CrashReport {
        CrashReport(
            time: 1_800_000_000 + number, signal: signal, process: pid_t(number), agent: "transfer/1", seconds: 3,
            words: Array(words.utf8))
    }

    @Test func whatAListSaysIsInTheNames() throws {
        let directory = try Self.directory()
        let reports = CrashReports(of: directory.path)
        #expect(reports.all.isEmpty)
        try reports.keep(Self.report(7, words: "code: 1\n"))
        let entry = try #require(reports.all.first)
        #expect(entry.time == "2027-01-15T08:00:07Z" && entry.signal == "SIGILL")
        let text = TestServer.read("\(reports.path)/\(entry.name)").map { String(decoding: $0, as: UTF8.self) }
        #expect(
            text == "transfer/1 was ended by SIGILL at 2027-01-15T08:00:07Z\nprocess 7, after 3 seconds\ncode: 1\n")
    }

    @Test func theNewestStay() throws {
        let directory = try Self.directory()
        let reports = CrashReports(of: directory.path)
        for number in 0..<CrashReports.most + 5 { try reports.keep(Self.report(number)) }
        #expect(reports.all.count == CrashReports.most)
        #expect(reports.all.first?.time == "2027-01-15T08:00:05Z")
        #expect(reports.all.last?.time == "2027-01-15T08:00:24Z")
    }

    @Test func othersFilesAreNoReports() throws {
        let directory = try Self.directory()
        let reports = CrashReports(of: directory.path)
        try reports.keep(Self.report(1))
        for name in ["a", "_", "a_b_c", "2027-01-15T08-00-07Z_SIGILL_7.core", ".hidden", "\u{e9}_\u{e9}_\u{e9}.txt"] {
            #expect(TestServer.write([1], "\(reports.path)/\(name)"))
        }
        #expect(reports.all.count == 1)
    }

    /// Any program with write access to the folder can leave odd names there. They are not believed and do not stop the
    /// server.
    @Test func oddNamesHarmNobody() throws {
        let directory = try Self.directory()
        let reports = CrashReports(of: directory.path)
        try reports.keep(Self.report(1))
        let stamp = "2027-01-15T08-00-07Z"
        let odd = [
            // These names have as many bytes as a time, but fewer characters.
            String(repeating: "\u{661}", count: 10), String(repeating: "\u{1D7D8}", count: 5),
            String(repeating: "e\u{301}\u{327}", count: 4), "2027-01-15T08-00-\u{661}7",
        ]
        for time in odd {
            #expect(time.utf8.count == 20)
            #expect(TestServer.write([1], "\(reports.path)/\(time)_SIGILL_7.txt"))
        }
        #expect(reports.all.map(\.time) == ["2027-01-15T08:00:01Z"])
        // The longest possible name of a report, and a directory, a pipe and a dangling link with names of reports.
        let longest = stamp + "_" + String(repeating: "S", count: 255 - 20 - 1 - 6) + "_7.txt"
        #expect(longest.utf8.count == 255 && TestServer.write([1], "\(reports.path)/\(longest)"))
        #expect(mkdir("\(reports.path)/\(stamp)_DIRECTORY_7.txt", 0o700) == 0)
        #expect(mkfifo("\(reports.path)/\(stamp)_PIPE_7.txt", 0o600) == 0)
        #expect(symlink("nothing", "\(reports.path)/\(stamp)_LINK_7.txt") == 0)
        #expect(reports.all.count == 5)
        for number in 10..<10 + CrashReports.most { try reports.keep(Self.report(number)) }
        // An entry that cannot be removed stays, and the newest reports are kept all the same.
        let kept = reports.all.map(\.signal)
        #expect(kept == ["DIRECTORY"] + [String](repeating: "SIGILL", count: CrashReports.most))
    }

    /// A link does not redirect reports, and no report is written to a directory without the server's folder.
    @Test func nothingIsWrittenElsewhere() throws {
        let (directory, other) = (try Self.directory(), try TemporaryDirectory())
        #expect(symlink(other.path, directory.path(".transfer/crashes")) == 0)
        #expect(throws: SystemError.self) { try CrashReports(of: directory.path).keep(Self.report(1)) }
        #expect(names(in: other.path).isEmpty)
        #expect(throws: SystemError.self) { try CrashReports(of: other.path).keep(Self.report(1)) }
        #expect(names(in: other.path).isEmpty)
    }
}
