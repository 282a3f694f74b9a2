import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct VerifyTests {
    private let server: RunningServer

    /// Starts a server, stores the photo and a file with a difficult name, and stops the server.
    init() throws {
        server = try RunningServer()
        let sources = try TemporaryDirectory()
        try writeFile(sources.path("line\n\u{1B}[2Jx\"\\"), [1, 2, 3])
        let push = try server.push([photo, sources.path("line\n\u{1B}[2Jx\"\\")])
        #expect(push.end == .exited(0), "\(push.errors)")
        server.program.signal(SIGTERM)
        _ = try server.program.wait()
    }

    private func verify(_ flags: String...) throws -> Finished {
        try Finished(["verify", "--dir", server.directory] + flags)
    }

    @Test func allIsWell() throws {
        let verified = try verify()
        #expect(verified.end == .exited(0))
        #expect(verified.output == "intact: 2 files, 51.5 KB\n")
        #expect(verified.errors == "")
        #expect(try verify("--quiet").output == "")
        #expect(try verify("--json").object()["intact"] == "2")
    }

    @Test func besideAServer() throws {
        let running = try RunningServer(in: server.home)
        #expect(try verify().end == .exited(0))
        let repair = try verify("--repair-catalog")
        #expect(repair.end == .exited(5))
        #expect(repair.errors.contains("A server is storing in the directory. Stop it first"), "\(repair.errors)")
        withExtendedLifetime(running) {}
    }

    @Test func whatIsMissingIsShownOnOneLine() throws {
        let name = "line\n\u{1B}[2Jx\"\\"
        unlink("\(server.directory)/\(name)")
        let verified = try verify()
        #expect(verified.end == .exited(1))
        #expect(verified.output.hasPrefix("missing  line\\n\\u{1b}[2Jx\"\\\\  3 B  acknowledged as xxh128:"))
        #expect(verified.lines.count == 2)
        let objects = try verify("--json").objects()
        #expect(objects.count == 2)
        #expect(objects[0]["finding"] == "missing" && objects[0]["path"] == "line\\n\\u001b[2Jx\"\\")
        #expect(objects[1]["finding"] == "summary" && objects[1]["missing"] == "1" && objects[1]["missingBytes"] == "3")
        #expect(try verify("--repair-catalog", "--quiet").end == .exited(1))
        #expect(try verify().end == .exited(0))
    }

    /// A failing disk changes bytes but no times. While a server runs, a damaged file is found and not sent, and the
    /// same push as before heals it.
    @Test func whatIsRottenIsNotPulledAndIsHealed() throws {
        let path = "\(server.directory)/demo.png"
        let content = try readFile(path)
        var status = stat()
        #expect(stat(path, &status) == 0)
        try writeFile(path, [content[0] ^ 1] + content.dropFirst())
        #expect(utimensat(AT_FDCWD, path, [status.st_mtim, status.st_mtim], 0) == 0)
        let running = try RunningServer(in: server.home)
        let verified = try verify()
        #expect(verified.end == .exited(1) && verified.output.hasPrefix("rotten  demo.png"), "\(verified.output)")
        let target = try TemporaryDirectory()
        let arguments = ["pull", "demo.png", "-o", target.path]
        let pulled = try running.run(arguments)
        #expect(pulled.end == .exited(1) && names(in: target.path).isEmpty)
        #expect(pulled.errors.contains("The server's disk has damaged"), "\(pulled.errors)")
        #expect(try running.run(arguments + ["--json"]).object()["result"] == "contentLost")
        let pushed = try running.push([photo, "--json"])
        #expect(pushed.end == .exited(0))
        #expect(try readFile(path) == content)
        #expect(names(in: server.directory).filter { $0.hasPrefix("demo") } == ["demo.png"])
        #expect(try running.run(arguments).end == .exited(0))
        #expect(try verify().end == .exited(0))
    }

    @Test func aDamagedCatalogIsSaidAndMadeAnew() throws {
        let catalog = "\(server.directory)/.transfer/catalog.sqlite"
        try writeFile(catalog, randomBytes(8_192, seed: 4))
        let verified = try verify()
        #expect(verified.end == .exited(1))
        #expect(verified.output.contains("\nThe catalog is damaged: "), "\(verified.output)")
        #expect(try verify("--repair-catalog").output.contains("\ncatalog: 2 added, "))
        #expect(try verify().output == "intact: 2 files, 51.5 KB\n")
    }

    @Test func noDirectoryOfAServer() throws {
        let verified = try Finished(["verify", "--dir", server.home.path])
        #expect(verified.end == .exited(5))
        #expect(verified.errors.hasPrefix("transfer: Cannot look through the directory '"))
    }
}
