import Glibc
import Testing
import TransferTestSupport

@testable import TransferCLI

/// What `make install` and `make install-service` install.
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

    private static let make = "/usr/bin/make"

    private static func make(_ target: String, _ destination: String) throws -> Finished {
        var surroundings = Surroundings()
        surroundings.executable = make
        surroundings.directory = root
        return try Finished(
            [target, "DESTDIR=\(destination)", "PREFIX=/usr", "binary=\(try Spawner.executable())"], surroundings)
    }

    @Test(.enabled(if: access(make, X_OK) == 0, "make is not installed"))
    func everythingIsInstalledAndRemoved() throws {
        let home = try TemporaryDirectory()
        let install = try Self.make("install", home.path("root"))
        #expect(install.end == .exited(0), "\(install.errors)")
        let pages = ([Commands.program] + Commands.all).map { "share/man/man1/\(ManualPage.name(of: $0)).1" }
        let others = [
            "bin/transfer", "share/bash-completion/completions/transfer",
            "share/fish/vendor_completions.d/transfer.fish",
            "share/zsh/site-functions/_transfer",
        ]
        #expect(files(below: home.path("root/usr")) == (pages + others).sorted())
        let page = try readFile(home.path("root/usr/share/man/man1/transfer-access-token-create.1"))
        #expect(String(decoding: page, as: UTF8.self) == ManualPage.page(for: Commands.tokenCreate))
        let uninstall = try Self.make("uninstall", home.path("root"))
        #expect(uninstall.end == .exited(0) && files(below: home.path("root")) == [], "\(uninstall.errors)")
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
