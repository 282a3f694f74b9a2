import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

extension ServerTests {
    /// Frames that break the protocol cause a result that names the fault and no visible file, and the server
    /// continues.
    @Suite struct BadFramesTests {
        private static func header(_ function: UInt16, flag: UInt8 = 0, length: [UInt8]) -> [UInt8] {
            [0, 2, UInt8(function >> 8), UInt8(function & 0xFF), flag] + length
        }

        static let garbage: [FaultyFrames] = [
            FaultyFrames("another version", .unsupportedVersion, [0, 1, 0, 1, 0, 0, 0]),
            FaultyFrames("HTTP", .unsupportedVersion, Array("GET / HTTP/1.1\r\n\r\n".utf8)),
            FaultyFrames("unknown function", .unsupportedFunction, header(999, length: [0, 0])),
            FaultyFrames("unknown compress flag", .malformedFrame, header(18, flag: 3, length: [0, 0])),
            FaultyFrames("compressed control frame", .malformedFrame, header(1, flag: 1, length: [0, 4])),
            FaultyFrames(
                "a body of 2^63 bytes", .frameTooLarge,
                Frames.hello + header(18, length: [0xFF, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0])),
            FaultyFrames(
                "a body of 2^64-1 bytes", .frameTooLarge,
                Frames.hello + header(18, length: [0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 8))),
            FaultyFrames(
                "a control body over the limit", .frameTooLarge, Frames.hello + header(16, length: [0x40, 1])),
            FaultyFrames(
                "an extended length that should be short", .malformedFrame,
                Frames.hello + header(18, length: [0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 5])),
            FaultyFrames("data before hello", .unexpectedFrame, Frames.data([1])),
            FaultyFrames("data before begin", .unexpectedFrame, Frames.hello + Frames.data([1])),
            FaultyFrames("end before begin", .unexpectedFrame, Frames.hello + Frames.end([1])),
            FaultyFrames("hello twice", .unexpectedFrame, Frames.hello + Frames.hello),
            FaultyFrames("block before begin", .unexpectedFrame, Frames.hello + Frames.block(0, [1])),
            FaultyFrames("abort before begin", .unexpectedFrame, Frames.hello + Frames.encoded(.abort)),
            FaultyFrames("begin before hello", .unexpectedFrame, Frames.begin("a", size: 3)),
            FaultyFrames("ping before hello", .unexpectedFrame, Frames.encoded(.ping(1))),
            FaultyFrames(
                "a result from a client", .unexpectedFrame,
                Frames.hello + Frames.begin("a", size: 3)
                    + Frames.encoded(.result(UploadResult(id: .none, code: .busy)))),
            FaultyFrames(
                "an unknown digest", .unsupportedDigest,
                Frames.hello + Frames.patched(Frames.begin("a", size: 3), 25, 9)),
            FaultyFrames(
                "an unknown policy", .malformedFrame, Frames.hello + Frames.patched(Frames.begin("a", size: 3), 26, 9)),
            FaultyFrames(
                "a path beyond its frame", .malformedFrame,
                Frames.hello + Frames.patched(Frames.begin("a", size: 3), 36, 9)),
            FaultyFrames(
                "begin inside an upload", .unexpectedFrame,
                Frames.hello + Frames.begin("a", size: 3) + Frames.data([1]) + Frames.begin("b", size: 3)),
            FaultyFrames("a frame for clients", .unexpectedFrame, Frames.hello + Frames.encoded(.accept(.random()))),
            FaultyFrames(
                "an upload id of zeros", .malformedFrame,
                Frames.hello + header(16, length: [0, 22]) + [UInt8](repeating: 0, count: 22)),
            FaultyFrames(
                "a body that ends inside a field", .malformedFrame,
                Frames.hello + header(16, length: [0, 20]) + [UInt8](repeating: 1, count: 20)),
        ]

        @Test(arguments: garbage) func endsTheConnectionWithAResultThatNamesIt(_ garbage: FaultyFrames) async throws {
            try await serving { server in
                let client = try server.client()
                client.send(garbage.bytes)
                let result = try client.result()
                #expect(result.code == garbage.code)
                #expect(result.id == .none)
                #expect(!result.message.isEmpty)
                try client.waitForClose()
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
                try server.checkServes()
            }
        }

        @Test func truncatedFrameThenCloseLeavesNothing() async throws {
            try await serving { server in
                let whole = Frames.hello + Frames.upload("photo.png", [UInt8](repeating: 7, count: 300))
                for count in stride(from: 1, to: whole.count - 1, by: 17) {
                    try server.takes(Array(whole[..<count]))
                }
                #expect(server.tree.isEmpty)
                #expect(server.parts.isEmpty)
                try server.checkServes()
            }
        }

        @Test(arguments: 0..<8) func randomBytesEndTheConnection(seed: UInt64) async throws {
            try await serving { server in
                var random = SplitMix64(seed: seed)
                for round in 0..<25 {
                    let prefix = Bool.random(using: &random) ? Frames.hello : []
                    try server.takes(prefix + random.bytes(Int.random(in: 1...5000, using: &random)))
                    #expect(server.tree.isEmpty, "seed \(seed), round \(round)")
                }
                try server.checkServes()
            }
        }

        /// Valid frames with a few bytes changed reach deeper than random ones. Their requests may even be legal.
        @Test(arguments: 0..<8) func changedBytesNeverStopTheServer(seed: UInt64) async throws {
            try await serving { server in
                var random = SplitMix64(seed: seed)
                let good =
                    Frames.hello + Frames.upload("a/b", [1, 2, 3]) + Frames.begin("c", size: nil)
                    + Frames.data(Frames.deflated([UInt8](repeating: 4, count: 500)), .zlib) + Frames.block(0, [5])
                    + Frames.encoded(.abort, .ping(3)) + Frames.upload("d", [])
                    + Frames.encoded(.goodbye(Goodbye(.committed)))
                for _ in 0..<40 {
                    var bytes = good
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                            in: 0 ... .max, using: &random)
                    }
                    try server.takes(bytes)
                }
                #expect(server.parts.isEmpty, "seed \(seed)")
                try server.checkServes()
            }
        }

        /// Uploads that were complete before the fault get their results first.
        @Test func uploadsBeforeAFaultGetTheirResults() async throws {
            try await serving { server in
                let client = try server.client()
                let frames = Frames.hello + Frames.upload("good", [1]) + Frames.begin("half", size: 2) + [0, 1]
                #expect(try client.codes(2, to: frames) == [.committed, .unsupportedVersion])
                try client.waitForClose()
                #expect(server.tree == ["good"])
                #expect(server.parts.isEmpty)
            }
        }
    }
}

extension TestServer {
    /// Sends the bytes of a client that sends nothing more, and waits for the end of the connection.
    fileprivate func takes(_ bytes: [UInt8]) throws {
        let client = try client()
        client.send(bytes)
        client.endSending()
        try client.waitForClose()
    }
}
