import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct PushTests {
    static let keys = [
        "schema", "source", "uploadID", "result", "storedPath", "kind", "size", "digest", "verified", "durable",
        "replaced", "seconds", "attempts", "recipients", "format", "width", "height", "sealed", "sourceDeleted",
        "message", "form", "trash",
    ]

    @Test func aPhoto() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--json"])
        #expect(push.end == .exited(0))
        let object = try push.object()
        #expect(object.keys == Self.keys)
        #expect(object["source"] == photo)
        #expect(object["result"] == "committed" && object["durable"] == "true" && object["message"] == "")
        #expect(object["storedPath"] == "demo.png" && object["kind"] == "picture")
        #expect(object["uploadID"]?.count == 32)
        #expect(try Double(#require(object["seconds"])) ?? -1 > 0)
        let content = try readFile(photo)
        #expect(object["size"] == "\(content.count)")
        #expect(try server.stored("demo.png") == content)
        #expect(server.visibleFiles == ["demo.png"])
    }

    @Test func textWithAndWithoutName() throws {
        let server = try RunningServer()
        let text = "你好 👋\n"
        #expect(try server.push(["--text", text]).end == .exited(0))
        let named = try server.push(["--text", text, "--name", "notes/hello.txt", "--json"]).object()
        #expect(named["storedPath"] == "notes/hello.txt" && named["kind"] == "text")
        #expect(server.visibleFiles == ["notes/hello.txt", "text.txt"])
        for path in server.visibleFiles { #expect(try server.stored(path) == Array(text.utf8)) }
    }

    @Test func filesOfEverySizeKeepTheirBytes() throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        let sizes = [0, 1, 65_534, 65_535, 65_536, 4 << 20, (4 << 20) + 1, 17 << 20]
        for size in sizes { try writeFile(sources.path("\(size)"), randomBytes(size, seed: UInt64(size))) }
        let push = try server.push(sizes.map { sources.path("\($0)") })
        #expect(push.end == .exited(0), "\(push.errors)")
        for size in sizes { #expect(try server.stored("\(size)") == randomBytes(size, seed: UInt64(size))) }
    }

    @Test func severalThingsToAFolder() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--text", "a note", "--json"], to: "/photos/2025")
        #expect(push.end == .exited(0))
        // The text may overtake the picture, because the client first asks the server about the picture.
        let stored = try push.objects().compactMap { $0["storedPath"] }
        #expect(stored.sorted() == ["photos/2025/demo.png", "photos/2025/text.txt"])
        #expect(server.visibleFiles == ["photos/2025/demo.png", "photos/2025/text.txt"])
    }

    @Test func theServerFromTheEnvironment() throws {
        let server = try RunningServer()
        var surroundings = Surroundings()
        surroundings.environment["TRANSFER_SERVER"] = server.address + "/from/environment"
        #expect(try Finished(["push", photo, "--plaintext"], surroundings).end == .exited(0))
        #expect(server.visibleFiles == ["from/environment/demo.png"])
        surroundings.environment["TRANSFER_SERVER"] = "127.0.0.1:1"
        #expect(try server.push([photo], surroundings).end == .exited(0), "the flag wins")
    }

    @Test(arguments: ["text", "picture", "file"]) func kindIsWhatTheFlagSays(_ kind: String) throws {
        let server = try RunningServer()
        #expect(try server.push([photo, "--kind", kind, "--json"]).object()["kind"] == kind)
    }

    /// The last two arguments limit the rate to that of a slow network, over which `auto` compresses too.
    @Test(arguments: [
        ["none"], ["zlib"], ["zstd"], ["zstd", "--compress-level", "9"], ["auto"],
        ["auto", "--bandwidth", "16M", "--lanes", "1"], ["zstd", "--bandwidth", "16M", "--lanes", "4"],
    ]) func compressedOnTheWayOnly(_ method: [String]) throws {
        let server = try RunningServer()
        let sources = try TemporaryDirectory()
        let lines = Array("the same line again and again\n".utf8)
        let content = (0..<400_000).flatMap { _ in lines }
        try writeFile(sources.path("log"), content)
        let push = try server.push([sources.path("log"), photo, "--json", "--compress"] + method)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(try Set(push.objects().map { $0["size"] }) == ["\(content.count)", "\(readFile(photo).count)"])
        #expect(try server.stored("log") == content)
        #expect(try server.stored("demo.png") == readFile(photo))
    }

    @Test(arguments: [("xxh128", "/usr/bin/xxhsum", "-H2"), ("sha256", "/usr/bin/sha256sum", "-b")])
    func digestIsThatOfTheUsualTool(_ function: String, _ tool: String, _ flag: String) throws {
        guard access(tool, X_OK) == 0 else { return }
        let server = try RunningServer()
        let push = try server.push([photo, "--digest", function, "--json"])
        let other = try Finished([flag, photo], Surroundings(executable: tool))
        let digits = try #require(other.output.split(separator: " ").first)
        #expect(try push.object()["digest"] == "\(function):\(digits)")
    }

    @Test func theSameAgainIsStoredOnce() throws {
        let server = try RunningServer()
        let first = try server.push([photo, "--json"]).object()
        let again = try server.push([photo, "--json"])
        #expect(again.end == .exited(0))
        let second = try again.object()
        #expect(first["result"] == "committed" && second["result"] == "alreadyStored")
        #expect(second["storedPath"] == "demo.png" && second["durable"] == "true")
        #expect(second["digest"] == first["digest"] && second["uploadID"] == first["uploadID"])
        #expect(server.visibleFiles == ["demo.png"])
    }
}
