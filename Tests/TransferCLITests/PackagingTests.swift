import Glibc
import Testing
import TransferTestSupport

@testable import TransferCLI

/// The files that `make install` and `make install-service` install.
@Suite(.ownThreads) struct PackagingTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: access(analyzer, X_OK) == 0, "systemd is not installed"))
    func systemdUnderstandsTheUnit() throws {
        let unit = try String(decoding: readFile(Self.root + "/packaging/transfer.service"), as: UTF8.self)
        let home = try TemporaryDirectory()
        // systemd-analyze checks that the program exists.
        try writeFile(
            home.path("transfer.service"), unit.replacing("=/usr/local/bin/transfer ", with: "=/bin/true ").utf8)
        var surroundings = Surroundings()
        surroundings.executable = Self.analyzer
        try writeFile(home.path("transfer.socket"), Self.source("packaging/transfer.socket").utf8)
        for unit in ["transfer.service", "transfer.socket"] {
            let finished = try Finished(["verify", "--man=no", home.path(unit)], surroundings)
            #expect(finished.end == .exited(0))
            #expect(!finished.errors.contains(unit), "\(finished.errors)")
        }
    }

    private static let make = "/usr/bin/make"

    /// Content of a file of the repository.
    private static func source(_ path: String) throws -> String {
        try String(decoding: readFile("\(root)/\(path)"), as: UTF8.self)
    }

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
        #expect(String(decoding: page, as: UTF8.self) == ManualPage.page(for: TokenCreateCommand.definition))
        let uninstall = try Self.make("uninstall", home.path("root"))
        #expect(uninstall.end == .exited(0) && files(below: home.path("root")) == [], "\(uninstall.errors)")
    }

    @Test(.enabled(if: access(make, X_OK) == 0, "make is not installed"))
    func theServiceIsInstalledAndRemovedButNotWhatSomebodyWrote() throws {
        let home = try TemporaryDirectory()
        let settings = home.path("root/etc/transfer/config.toml")
        for isChanged in [false, true] {
            let install = try Self.make("install-service", home.path("root"))
            #expect(install.end == .exited(0), "\(install.errors)")
            let unit = try String(
                decoding: readFile(home.path("root/usr/lib/systemd/system/transfer.service")), as: UTF8.self)
            #expect(unit.contains("\nExecStart=/usr/bin/transfer serve "))
            let socket = try readFile(home.path("root/usr/lib/systemd/system/transfer.socket"))
            #expect(String(decoding: socket, as: UTF8.self).contains("\nListenStream=\(Commands.defaultAddress)\n"))
            #expect(try readFile(settings) == Array(Self.source("packaging/config.toml").utf8))
            if isChanged { try writeFile(settings, "[serve]\n".utf8) }
            #expect(try Self.make("uninstall", home.path("root")).end == .exited(0))
            #expect(files(below: home.path("root")) == (isChanged ? ["etc/transfer/config.toml"] : []))
        }
        #expect(try Self.make("install-service", home.path("root")).end == .exited(0))
        #expect(try readFile(settings) == Array("[serve]\n".utf8), "an upgrade leaves it alone too")
    }

    /// The commented-out settings are valid when a user uncomments them.
    @Test func theExampleOfAConfigurationIsOne() throws {
        let text = try Self.source("packaging/config.toml")
        let lines = text.split(separator: "\n").map { line in
            line.hasPrefix("#") && !line.hasPrefix("# ") ? String(line.dropFirst()) : String(line)
        }
        for content in [text, lines.joined(separator: "\n") + "\n"] {
            let file = try ConfigurationFile(Array(content.utf8), path: "/etc/transfer/config.toml", home: nil)
            #expect(file.settings(of: ServeCommand.definition).count == (content == text ? 0 : 10))
        }
    }

    private static func script(_ name: String, _ arguments: [String], _ environment: [String: String] = [:]) throws
        -> Finished
    {
        var surroundings = Surroundings()
        surroundings.executable = "\(root)/scripts/\(name)"
        surroundings.environment.merge(environment) { $1 }
        return try Finished(arguments, surroundings)
    }

    @Test func theVersionIsTheSameEverywhere() throws {
        let version = try Self.script("version.sh", []).output
        #expect(version == "\(transferVersion)\n")
        #expect(try Finished(["--version"]).output == "transfer \(version)")
        #expect(try Self.script("version.sh", ["--epoch"], ["SOURCE_DATE_EPOCH": "12345"]).output == "12345\n")
        let epoch = try Self.script("version.sh", ["--epoch"])
        #expect(epoch.end == .exited(0) && Int(epoch.output.dropLast()) ?? 0 > 1_700_000_000, "\(epoch.errors)")
    }

    private static let packer = "/usr/bin/dpkg-shlibdeps"

    @Test(.enabled(if: access(packer, X_OK) == 0, "there is no dpkg-dev here"))
    func twoPackagesOfOneBinaryAreTheSame() throws {
        let home = try TemporaryDirectory()
        for name in ["a", "b"] {
            let made = try Self.script(
                "make-deb.sh", [try Spawner.executable(), home.path(name)],
                ["DEB_COMPRESSION": "none", "SOURCE_DATE_EPOCH": "1700000000"])
            #expect(made.end == .exited(0), "\(made.errors)")
        }
        #expect(try readFile(home.path("a")) == readFile(home.path("b")))
    }

    /// The image builds with what the bootstrap script installs, and runs with what the Debian package recommends.
    @Test func theContainerIsLikeTheRest() throws {
        let lines = try Self.source("Dockerfile").split(separator: "\n").map(String.init)
        let text = lines.joined(separator: " ")
        #expect(lines.contains("RUN scripts/bootstrap.sh") && !text.contains("-dev"))
        let libraries = try Self.source("scripts/make-deb.sh").split(whereSeparator: { " \",".contains($0) })
            .filter { $0.hasPrefix("lib") && ($0.last?.isNumber ?? false) }
        #expect(Set(libraries).count == 4)
        for library in libraries { #expect(text.contains(" \(library)"), "\(library)") }
        #expect(lines.contains("USER transfer") && lines.contains("VOLUME /var/lib/transfer"))
        let port = Commands.defaultAddress.split(separator: ":").last ?? ""
        #expect(lines.contains("EXPOSE \(port)") && text.contains("\"0.0.0.0:\(port)\""))
        for instruction in ["CMD [", "HEALTHCHECK CMD ["] {
            let line = try #require(lines.first { $0.hasPrefix(instruction) })
            let words = line.split(whereSeparator: { "[], \"".contains($0) }).map(String.init)
            let command = words.drop { !["serve", "status"].contains($0) }
            #expect(try Finished(command + ["--help"]).end == .exited(0))
        }
    }

    /// A flag that the program does not know would otherwise fail only on a user's machine.
    @Test func theProgramUnderstandsTheCommand() throws {
        let unit = try String(decoding: readFile(Self.root + "/packaging/transfer.service"), as: UTF8.self)
        let command = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let words = command.split(separator: " ").dropFirst().filter { !$0.hasPrefix("$") }.map(String.init)
        #expect(words.first == "serve")
        let own = words.map { $0.hasPrefix("/etc/") ? Self.root + "/packaging/config.toml" : $0 }
        #expect(own != words)
        #expect(try Finished(own + ["--help"]).end == .exited(0))
    }
}
