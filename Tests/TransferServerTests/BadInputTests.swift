import Glibc
import Testing
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// What bad input gets: a named result, nothing visible, and a server that serves the next.
@Suite struct BadInputTests {
    /// Bytes that break the protocol, and the code that names the fault.
    struct Garbage: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bytes: [UInt8]
        let code: ResultCode

        init(_ name: String, _ code: ResultCode, _ bytes: [UInt8]) {
            testDescription = name
            self.bytes = bytes
            self.code = code
        }
    }

    private static func header(_ function: UInt16, flag: UInt8 = 0, length: [UInt8]) -> [UInt8] {
        [0, 2, UInt8(function >> 8), UInt8(function & 0xFF), flag] + length
    }

    static let garbage: [Garbage] = [
        Garbage("another version", .unsupportedVersion, [0, 1, 0, 1, 0, 0, 0]),
        Garbage("HTTP", .unsupportedVersion, Array("GET / HTTP/1.1\r\n\r\n".utf8)),
        Garbage("unknown function", .unsupportedFunction, header(999, length: [0, 0])),
        Garbage("unknown compress flag", .malformedFrame, header(18, flag: 2, length: [0, 0])),
        Garbage("compressed control frame", .malformedFrame, header(1, flag: 1, length: [0, 4])),
        Garbage(
            "a body of 2^63 bytes", .frameTooLarge,
            Frames.hello + header(18, length: [0xFF, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0])),
        Garbage(
            "a body of 2^64-1 bytes", .frameTooLarge,
            Frames.hello + header(18, length: [0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 8))),
        Garbage("a control body over the limit", .frameTooLarge, Frames.hello + header(16, length: [0x40, 1])),
        Garbage(
            "an extended length that should be short", .malformedFrame,
            Frames.hello + header(18, length: [0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 5])),
        Garbage("data before hello", .unexpectedFrame, Frames.data([1])),
        Garbage("data before begin", .unexpectedFrame, Frames.hello + Frames.data([1])),
        Garbage("end before begin", .unexpectedFrame, Frames.hello + Frames.end([1])),
        Garbage("hello twice", .unexpectedFrame, Frames.hello + Frames.hello),
        Garbage(
            "begin inside an upload", .unexpectedFrame,
            Frames.hello + Frames.begin("a", size: 3) + Frames.data([1]) + Frames.begin("b", size: 3)),
        Garbage("a frame for clients", .unexpectedFrame, Frames.hello + Frames.encoded(.accept(.random()))),
        Garbage(
            "an upload id of zeros", .malformedFrame,
            Frames.hello + header(16, length: [0, 22]) + [UInt8](repeating: 0, count: 22)),
    ]

    @Test(arguments: garbage) func endsTheConnectionWithAResultThatNamesIt(_ garbage: Garbage) async throws {
        let server = try await TestServer()
        let client = try server.client()
        await client.send(garbage.bytes)
        let result = try await client.result()
        #expect(result.code == garbage.code)
        #expect(result.id == .none)
        #expect(!result.message.isEmpty)
        try await client.waitForClose()
        #expect(server.tree.isEmpty)
        #expect(server.parts.isEmpty)
        try await server.checkServes()
        await server.server.shutDown()
    }

    @Test func truncatedFrameThenCloseLeavesNothing() async throws {
        let server = try await TestServer()
        let whole = Frames.hello + Frames.upload("photo.png", [UInt8](repeating: 7, count: 300))
        for count in stride(from: 1, to: whole.count - 1, by: 17) {
            let client = try server.client()
            await client.send(Array(whole[..<count]))
            client.endSending()
            try await client.waitForClose()
        }
        #expect(server.tree.isEmpty)
        #expect(server.parts.isEmpty)
        try await server.checkServes()
        await server.server.shutDown()
    }

    @Test(arguments: 0..<8) func randomBytesEndTheConnection(seed: UInt64) async throws {
        let server = try await TestServer()
        var random = SplitMix64(seed: seed)
        for round in 0..<25 {
            let client = try server.client()
            let prefix = Bool.random(using: &random) ? Frames.hello : []
            await client.send(prefix + random.bytes(Int.random(in: 1...5000, using: &random)))
            client.endSending()
            try await client.waitForClose()
            #expect(server.tree.isEmpty, "seed \(seed), round \(round)")
        }
        try await server.checkServes()
        await server.server.shutDown()
    }

    // MARK: Uploads that fail, on a connection that lives on

    /// The frames of one upload, and its result.
    struct BadUpload: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let frames: [UInt8]
        let code: ResultCode

        init(_ name: String, _ code: ResultCode, _ frames: [UInt8]) {
            testDescription = name
            self.frames = frames
            self.code = code
        }
    }

    private static let content = [UInt8]("hello, world".utf8)
    private static let bomb = Frames.deflated([UInt8](repeating: 0, count: Limits.dataBody + 1))
    private static let corrupt = Frames.deflated(Array(repeating: content, count: 50).flatMap { $0 }).map { $0 ^ 0x5A }

    static let badUploads: [BadUpload] = [
        BadUpload(
            "too many bytes", .sizeMismatch,
            Frames.begin("x", size: 5) + Frames.data(content) + Frames.end(content)),
        BadUpload(
            "too few bytes", .sizeMismatch, Frames.begin("x", size: 50) + Frames.data(content) + Frames.end(content)),
        BadUpload(
            "another size at the end", .sizeMismatch,
            Frames.begin("x", size: nil) + Frames.data(content)
                + Frames.encoded(.end(End(size: 3, digest: Frames.digest(content))))),
        BadUpload(
            "wrong digest", .digestMismatch,
            Frames.begin("x", size: 12) + Frames.data(content)
                + Frames.encoded(.end(End(size: 12, digest: Frames.digest([1]))))),
        BadUpload(
            "a digest of another function", .digestMismatch,
            Frames.begin("x", size: 12) + Frames.data(content) + Frames.end(content, .sha256)),
        BadUpload(
            "a block that was not sent", .digestMismatch,
            Frames.begin("x", size: 12) + Frames.data(content)
                + Frames.encoded(.block(BlockDigest(index: 0, digest: Frames.digest(content)))) + Frames.end(content)),
        BadUpload(
            "corrupt zlib", .corruptCompression,
            Frames.begin("x", size: 600) + Frames.data(corrupt, .zlib) + Frames.end(content)),
        BadUpload(
            "truncated zlib", .corruptCompression,
            Frames.begin("x", size: 12) + Frames.data(Frames.deflated(content).dropLast(3), .zlib)
                + Frames.end(content)),
        BadUpload(
            "zlib that inflates past the limit", .frameTooLarge,
            Frames.begin("x", size: nil) + Frames.data(bomb, .zlib) + Frames.end(content)),
        BadUpload("taken back", .aborted, Frames.begin("x", size: 12) + Frames.data(content) + Frames.encoded(.abort)),
    ]

    @Test(arguments: badUploads) func endsTheUploadAlone(_ bad: BadUpload) async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        await client.send(bad.frames)
        #expect(try await client.result().code == bad.code)
        #expect(server.tree.isEmpty)
        #expect(server.parts.isEmpty)
        await client.send(Frames.upload("next", [4, 2]))
        #expect(try await client.result().code == .committed)
        #expect(server.content("next") == [4, 2])
        await server.server.shutDown()
    }

    static let badPaths: [(path: String, code: ResultCode)] = [
        ("../x", .invalidPath), ("/etc/x", .invalidPath), ("a/../../x", .invalidPath), ("a/./b", .invalidPath),
        ("", .invalidPath), (String(repeating: "n", count: 300), .invalidPath), ("a\0b", .invalidPath),
        (Begin.undecodablePath, .invalidPath), (".transfer/x", .invalidPath), ("a//b", .invalidPath),
        ("outside/x", .invalidPath), ("outside/deep/x", .invalidPath), ("file/x", .pathConflict),
    ]

    @Test(arguments: badPaths, [ConflictPolicy.keepBoth, .overwrite])
    func pathsThatLeadNowhere(_ bad: (path: String, code: ResultCode), _ conflict: ConflictPolicy) async throws {
        let server = try await TestServer()
        mkdir(server.directory.path("elsewhere"), 0o755)
        symlink(server.directory.path("elsewhere"), server.directory.path("store/outside"))
        let client = try await server.greetedClient()
        await client.send(Frames.upload("file", [9]))
        #expect(try await client.result().code == .committed)
        await client.send(Frames.upload(bad.path, [1, 2, 3], conflict: conflict))
        let result = try await client.result()
        #expect(result.code == bad.code, "\(result.message)")
        #expect(server.tree == ["file", "outside"])
        #expect(server.parts.isEmpty)
        #expect(rmdir(server.directory.path("elsewhere")) == 0, "something got out")
        try await server.checkServes()
        await server.server.shutDown()
    }

    @Test func aPathThatIsNotUTF8IsTheUploadsFault() async throws {
        let server = try await TestServer()
        let client = try await server.greetedClient()
        var begin = Frames.begin("abc", size: 1)
        begin[begin.count - 2] = 0xFF
        await client.send(begin + Frames.data([1]) + Frames.end([1]))
        #expect(try await client.result().code == .invalidPath)
        await client.send(Frames.upload("good", [1]))
        #expect(try await client.result().code == .committed)
        await server.server.shutDown()
    }

    @Test func aClientThatVanishesLeavesNothing() async throws {
        let server = try await TestServer()
        do {
            let client = try await server.greetedClient()
            await client.send(Frames.begin("big", size: 64 << 20, expectsAccept: true))
            guard case .message(.accept) = try await client.next() else {
                throw RawClient.Failure(description: "no accept")
            }
            #expect(!server.parts.isEmpty)
            await client.send(Frames.data([UInt8](repeating: 3, count: 1 << 20)))
        }
        await server.server.shutDown()
        #expect(server.tree.isEmpty)
        #expect(server.parts.isEmpty)
    }
}
