import Testing
import TransferProtocol
import TransferTestSupport

extension ServerTests {
    /// Frames that break the protocol: a result that names the fault, nothing visible, and a server that goes on.
    @Suite struct BadFramesTests {
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
            Garbage("block before begin", .unexpectedFrame, Frames.hello + Frames.block(0, [1])),
            Garbage("abort before begin", .unexpectedFrame, Frames.hello + Frames.encoded(.abort)),
            Garbage("begin before hello", .unexpectedFrame, Frames.begin("a", size: 3)),
            Garbage("ping before hello", .unexpectedFrame, Frames.encoded(.ping(1))),
            Garbage(
                "a result from a client", .unexpectedFrame,
                Frames.hello + Frames.begin("a", size: 3)
                    + Frames.encoded(.result(UploadResult(id: .none, code: .busy)))),
            Garbage(
                "an unknown digest", .unsupportedDigest,
                Frames.hello + Frames.patched(Frames.begin("a", size: 3), 25, 9)),
            Garbage(
                "an unknown policy", .malformedFrame, Frames.hello + Frames.patched(Frames.begin("a", size: 3), 26, 9)),
            Garbage(
                "a path beyond its frame", .malformedFrame,
                Frames.hello + Frames.patched(Frames.begin("a", size: 3), 36, 9)),
            Garbage(
                "begin inside an upload", .unexpectedFrame,
                Frames.hello + Frames.begin("a", size: 3) + Frames.data([1]) + Frames.begin("b", size: 3)),
            Garbage("a frame for clients", .unexpectedFrame, Frames.hello + Frames.encoded(.accept(.random()))),
            Garbage(
                "an upload id of zeros", .malformedFrame,
                Frames.hello + header(16, length: [0, 22]) + [UInt8](repeating: 0, count: 22)),
            Garbage(
                "a body that ends inside a field", .malformedFrame,
                Frames.hello + header(16, length: [0, 20]) + [UInt8](repeating: 1, count: 20)),
        ]

        @Test(arguments: garbage) func endsTheConnectionWithAResultThatNamesIt(_ garbage: Garbage) async throws {
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
                    let client = try server.client()
                    client.send(Array(whole[..<count]))
                    client.endSending()
                    try client.waitForClose()
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
                    let client = try server.client()
                    let prefix = Bool.random(using: &random) ? Frames.hello : []
                    client.send(prefix + random.bytes(Int.random(in: 1...5000, using: &random)))
                    client.endSending()
                    try client.waitForClose()
                    #expect(server.tree.isEmpty, "seed \(seed), round \(round)")
                }
                try server.checkServes()
            }
        }

        /// Good frames with a few bytes changed reach deeper than random ones. What they ask for may even be legal.
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
                    let client = try server.client()
                    client.send(bytes)
                    client.endSending()
                    try client.waitForClose()
                }
                #expect(server.parts.isEmpty, "seed \(seed)")
                try server.checkServes()
            }
        }

        /// The results of what was whole before the fault come first.
        @Test func uploadsBeforeAFaultGetTheirResults() async throws {
            try await serving { server in
                let client = try server.client()
                client.send(Frames.hello + Frames.upload("good", [1]) + Frames.begin("half", size: 2) + [0, 1])
                #expect(try client.result().code == .committed)
                #expect(try client.result().code == .unsupportedVersion)
                try client.waitForClose()
                #expect(server.tree == ["good"])
                #expect(server.parts.isEmpty)
            }
        }
    }
}
