import Glibc
import Testing
import TransferTestSupport

/// What `make install-service` installs.
@Suite(.ownThreads) struct PackagingTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: access(analyzer, X_OK) == 0, "systemd is not installed"))
    func systemdUnderstandsTheUnit() throws {
        let unit = try String(decoding: readFile(Self.root + "/packaging/transfer.service"), as: UTF8.self)
        let home = try TemporaryDirectory()
        // It looks whether the program is there.
        try writeFile(
            home.path("transfer.service"), unit.replacing("=/usr/local/bin/transfer ", with: "=/bin/true ").utf8)
        var surroundings = Surroundings()
        surroundings.executable = Self.analyzer
        let finished = try Finished(["verify", "--man=no", home.path("transfer.service")], surroundings)
        #expect(finished.end == .exited(0))
        #expect(!finished.errors.contains("transfer.service"), "\(finished.errors)")
    }

    /// A flag that the program doesn't know would only show on somebody's machine.
    @Test func theProgramUnderstandsTheCommand() throws {
        let unit = try String(decoding: readFile(Self.root + "/packaging/transfer.service"), as: UTF8.self)
        let command = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let words = command.split(separator: " ").dropFirst().filter { !$0.hasPrefix("$") }.map(String.init)
        #expect(words.first == "serve")
        #expect(try Finished(words + ["--help"]).end == .exited(0))
    }
}
