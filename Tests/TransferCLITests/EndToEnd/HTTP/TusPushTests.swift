import Testing
import TransferHTTP
import TransferTestSupport

/// `transfer push` to a server that speaks tus.
@Suite(.ownThreads) struct TusPushTests {
    private static let all = "creation,creation-with-upload,creation-defer-length,checksum"

    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try writeFile(home.path(name), bytes)
        return home.path(name)
    }

    private func push(_ arguments: [String], to server: HTTPServer) throws -> Finished {
        try Finished(["push", "--json", "--to", server.url + "/files/"] + arguments)
    }

    @Test(arguments: [("creation", nil), (all, "sha1"), (all, "sha256")])
    func pushes(_ extensions: String, _ algorithm: String?) throws {
        let tus = TusService(extensions, algorithm: algorithm)
        let server = try HTTPServer(tus)
        let long = randomBytes(20_000_001, seed: 1)
        let paths = try [file("a.txt", Array("hello\n".utf8)), file("empty", []), file("long", long), photo]
        let push = try push(paths, to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.uploads.count == 4 && tus.uploads.allSatisfy { $0.isComplete })
        #expect(tus.uploads.contains { $0.bytes == long })
        let names = tus.uploads.compactMap { try? $0.metadata?.string("filename") }
        #expect(names.sorted() == ["a.txt", "demo.png", "empty", "long"])
        #expect(tus.uploads.contains { (try? $0.metadata?.string("filetype")) == "image/png" })
        let objects = try push.objects()
        #expect(
            objects.allSatisfy { $0["result"] == "stored" && $0["durable"] == "false" && $0["storedPath"] == "null" })
        // Without checksums the client has verified nothing.
        #expect(objects.allSatisfy { $0["verified"] == (algorithm == nil ? "false" : "true") })
        #expect(server.accepted <= 4)
    }

    @Test func foldersAreTold() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        try makeDirectory(home.path("d"))
        try makeDirectory(home.path("d/sub"))
        try writeFile(home.path("d/sub/ä b.txt"), Array("x".utf8))
        let push = try push([home.path("d")], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(try tus.uploads.first?.metadata?.string("relativePath") == "d/sub/ä b.txt")
    }

    @Test(arguments: [0, 5, 5 << 20]) func streams(_ count: Int) throws {
        let tus = TusService(Self.all, algorithm: "sha256")
        let server = try HTTPServer(tus)
        let bytes = randomBytes(count, seed: 2)
        var surroundings = Surroundings()
        surroundings.input = .pipe
        let program = try Program(
            ["push", "--json", "-", "--name", "s", "--to", server.url + "/files/"], surroundings)
        try program.write(bytes)
        program.closeInput()
        let push = try Finished(program)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.uploads.map(\.bytes) == [bytes] && tus.uploads.allSatisfy { $0.isComplete })
    }

    @Test func aStreamNeedsAServerThatTakesOne() throws {
        let server = try HTTPServer(TusService())
        let push = try Finished(["push", "-", "--name", "s", "--to", server.url + "/files/"])
        #expect(push.end == .exited(1) && push.errors.contains("a stream has none"), "\(push.errors)")
    }

    /// The connection is cut repeatedly, and yet every byte is sent only once.
    @Test(arguments: [nil, "sha256"]) func goesOnAfterLostConnections(_ algorithm: String?) throws {
        let tus = TusService(algorithm == nil ? "creation" : "creation,checksum", algorithm: algorithm)
        let server = try HTTPServer(tus)
        server.cut(after: [0, 1, 700_000, 9_000_000, 3])
        let long = randomBytes(20_000_001, seed: 3)
        let push = try push([file("long", long)], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.uploads.map(\.bytes) == [long])
        #expect(tus.heads.contains { $0.method == .head })
    }

    /// An offset beyond the bytes that the client has sent is an error.
    @Test func answersThatComeTooEarly() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.beEarly(HTTPServer.Answer(204, [("Upload-Offset", "8388608")]))
        let push = try push([file("long", randomBytes(8 << 20, seed: 8))], to: server)
        #expect(push.end == .exited(5), "\(push.errors)")
        let report = try push.object()
        #expect(report["result"] == "malformedFrame" && report["message"]?.contains("were sent") == true, "\(report)")
    }

    /// Pushes a file, and cuts the connection when the server has the first piece.
    private func pushInterrupted(_ path: String, _ tus: TusService, _ server: HTTPServer) throws {
        try makeDirectory(home.path("user"))
        tus.instead(of: "PATCH") { [unowned tus] request in tus.usual(request) }
        tus.instead(of: "PATCH") { _ in nil }
        let push = try push(["--retry-for", "0", path], to: server, at: home.path("user"))
        #expect(push.end != .exited(0) && tus.uploads.map(\.bytes.count) == [8 << 20], "\(push.errors)")
    }

    private func push(_ arguments: [String], to server: HTTPServer, at user: String) throws -> Finished {
        var surroundings = Surroundings()
        surroundings.environment["HOME"] = user
        return try Finished(["push", "--json", "--to", server.url + "/files/"] + arguments, surroundings)
    }

    /// Names of the records that the client keeps for a later run.
    private var kept: [String] { names(in: home.path("user/.config/transfer/uploads")) }

    @Test(arguments: [nil, "sha256"]) func goesOnInALaterRun(_ algorithm: String?) throws {
        let tus = TusService(algorithm == nil ? "creation" : "creation,checksum", algorithm: algorithm)
        let server = try HTTPServer(tus)
        let long = randomBytes(20_000_001, seed: 9)
        let path = try file("long", long)
        try pushInterrupted(path, tus, server)
        #expect(kept.count == 1)
        let push = try push([path], to: server, at: home.path("user"))
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.uploads.map(\.bytes) == [long] && tus.heads.count { $0.method == .post } == 1)
        #expect(try push.object()["verified"] == (algorithm == nil ? "false" : "true"))
        #expect(kept.isEmpty)
    }

    /// The server has forgotten the upload, the file has changed, or the client's record is invalid or names another
    /// server.
    @Test(arguments: ["forgotten", "changed", "damaged", "elsewhere"])
    func beginsAnewInALaterRun(_ reason: String) throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        let path = try file("long", randomBytes(9_000_000, seed: 10))
        try pushInterrupted(path, tus, server)
        let place = try home.path("user/.config/transfer/uploads/\(#require(kept.first))")
        switch reason {
        case "forgotten": tus.forget()
        case "changed": try writeFile(path, randomBytes(9_000_000, seed: 11))
        case "damaged": try writeFile(place, [1, 2] + Array("/files/0".utf8))
        default: try writeFile(place, [1, 1] + Array("http://192.0.2.1/files/0".utf8))
        }
        let push = try push([path], to: server, at: home.path("user"))
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(try tus.uploads.last?.bytes == readFile(path) && tus.heads.count { $0.method == .post } == 2)
        #expect(push.errors.contains("an earlier run") == (reason == "forgotten"), "\(push.errors)")
    }

    @Test func waitsForALock() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.instead(of: "PATCH") { _ in HTTPServer.Answer(423) }
        tus.instead(of: "HEAD") { _ in HTTPServer.Answer(503, [("Retry-After", "0")]) }
        tus.instead(of: "POST") { _ in HTTPServer.Answer(500) }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.uploads.map(\.bytes) == [Array("hello".utf8)])
    }

    @Test func asksAgainAfterAConflict() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        // Stores the content, but answers with a conflict.
        tus.instead(of: "PATCH") { [unowned tus] request in
            _ = tus.usual(request)
            return HTTPServer.Answer(409)
        }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.uploads.map(\.bytes) == [Array("hello".utf8)])
    }

    @Test func beginsAnewWhereTheServerHasForgotten() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.instead(of: "PATCH") { [unowned tus] _ in
            tus.forget()
            return HTTPServer.Answer(404)
        }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(push.errors.contains("sent again from the beginning"), "\(push.errors)")
        #expect(tus.uploads.map(\.bytes) == [Array("hello".utf8)])
    }

    /// The server takes the last piece, its answer is lost, and then it forgets the upload.
    @Test func whatMayBeThereIsNotSentAgain() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.instead(of: "PATCH") { [unowned tus] _ in
            tus.forget()
            return nil
        }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(6), "\(push.errors)")
        #expect(try push.object()["result"] == "unacknowledged" && tus.heads.count { $0.method == .post } == 1)
    }

    @Test(arguments: ["4", "6", "-1", "x"]) func offsetsThatCannotBeSo(_ offset: String) throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.instead(of: "PATCH") { [unowned tus] request in
            _ = tus.usual(request)
            return HTTPServer.Answer(204, [("Upload-Offset", offset)])
        }
        // An offset of 4 is possible, so the next answer goes back to 3. The other offsets are impossible.
        if offset == "4" { tus.instead(of: "PATCH") { _ in HTTPServer.Answer(204, [("Upload-Offset", "3")]) } }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(5), "\(push.errors)")
        #expect(try push.object()["result"] == "malformedFrame")
    }

    @Test(arguments: ["http://127.0.0.1:1/x/", "http://example.com/x/", "https://127.0.0.1/x/"])
    func placesElsewhereAreRefused(_ place: String) throws {
        let tus = TusService(place: place)
        let server = try HTTPServer(tus)
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(1), "\(push.errors)")
        #expect(try push.object()["message"]?.contains("another server") ?? false, "\(push.output)")
        #expect(!tus.heads.contains { $0.method == .patch })
    }

    @Test(arguments: ["1", "/other/"]) func placesAreRelative(_ place: String) throws {
        let tus = TusService(place: place == "1" ? "" : place)
        let server = try HTTPServer(tus)
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.heads.last?.target == (place == "1" ? "/files/0" : "/other/0"))
    }

    @Test func redirectsOnTheSameServer() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.instead(of: "OPTIONS") { _ in HTTPServer.Answer(301, [("Location", "/new/")]) }
        tus.instead(of: "PATCH") { _ in HTTPServer.Answer(307, [("Location", "/there/0")]) }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(tus.heads.map(\.target) == ["/files/", "/new/", "/new/", "/files/0", "/there/0"])
        #expect(tus.uploads.map(\.bytes) == [Array("hello".utf8)])
    }

    @Test func redirectsHaveAnEnd() throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        for _ in 0..<6 { tus.instead(of: "POST") { _ in HTTPServer.Answer(308, [("Location", "/again/")]) } }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(1) && push.output.contains("too often"), "\(push.output)")
    }

    @Test(arguments: [(413, "uploadTooLarge", 1), (403, "forbidden", 4), (401, "authenticationRequired", 4)])
    func refusals(_ status: Int, _ result: String, _ code: Int32) throws {
        let tus = TusService()
        let server = try HTTPServer(tus)
        tus.instead(of: "POST") { _ in HTTPServer.Answer(status, closes: true) }
        let push = try push(["--text", "hello"], to: server)
        #expect(push.end == .exited(code), "\(push.errors)")
        #expect(try push.object()["result"] == result)
    }

    @Test func policiesThatNobodyKnows() throws {
        let server = try HTTPServer(TusService())
        let push = try push(["--text", "hello", "--on-conflict", "fail"], to: server)
        #expect(push.end == .exited(1), "\(push.errors)")
        #expect(try push.object()["result"] == "unsuitable")
    }
}
