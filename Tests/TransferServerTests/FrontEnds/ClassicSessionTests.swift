import Testing
import TransferAccess
import TransferClassic
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// Clients with classic framings on a complete server.
@Suite(.timeLimit(.minutes(10))) struct ClassicSessionTests {
    /// Serves one classic framing beside the usual front end.
    private func serving(
        _ framing: ClassicFraming, _ options: [(name: String, value: String?)] = [],
        change: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer, Endpoint) throws -> Void
    ) async throws {
        let access = try AccessOptions(options)
        try await TransferServerTests.serving({ configuration in
            configuration.classic = [ClassicListener(framing, on: TestServer.anyPort, access)]
            change(&configuration)
        }) { server in
            try body(server, server.classicEndpoint())
            try early { try server.checkServes() }
        }
    }

    private static let sized = ClassicFraming.sized(total: .whole, isAnswered: true)

    /// Encodes an upload of the sized framing, whose total includes its head.
    private static func sized(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        little(content.count + 8) + [type, 0, 0, 0] + content
    }

    private static func little(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func answer(_ type: UInt8, _ result: UInt8) -> [UInt8] {
        [12, 0, 0, 0, type, 0, 0, 0, result, 0, 0, 0]
    }

    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 5000)

    /// When the client has the answer, the file is stored under a name that says its kind.
    @Test func anAnswerMeansAFile() async throws {
        try await serving(Self.sized) { server, endpoint in
            let client = try RawClient(endpoint)
            client.send(Self.sized(3, Self.png))
            #expect(try client.bytes(12) == Self.answer(3, 1))
            #expect(server.tree.count == 1)
            let name = server.tree.first ?? ""
            #expect(name.hasPrefix("picture-20") && name.hasSuffix(".png"))
            #expect(server.content(name) == Self.png)
        }
    }

    /// Uploads that are sent together, before the first answer and in pieces of any size, are answered in order and get
    /// different names.
    @Test(arguments: [1, 7, 64, 5003, 1 << 20]) func inAnyPieces(_ size: Int) async throws {
        try await serving(Self.sized, [("folder", "old")]) { server, endpoint in
            let contents: [(type: UInt8, content: [UInt8])] = [
                (1, Array("text".utf8)), (2, []), (3, Self.png), (4, Array("geo:1,2".utf8)), (3, Self.png),
            ]
            let client = try RawClient(endpoint)
            let stream = contents.flatMap { Self.sized($0.type, $0.content) }
            for start in stride(from: 0, to: stream.count, by: size) {
                client.send(Array(stream[start..<min(stream.count, start + size)]))
            }
            #expect(try client.bytes(60) == contents.flatMap { Self.answer($0.type, 1) })
            let files = server.tree.filter { $0 != "old/" && $0 != "old" }
            #expect(files.count == 5 && files.allSatisfy { $0.hasPrefix("old/") })
            #expect(files.filter { server.content($0) == Self.png }.count == 2)
        }
    }

    /// A fault is answered in the framing's way, after the answers to earlier uploads, and ends the connection.
    @Test(
        arguments: [[7, 0, 0, 0, 1, 0, 0, 0], [255, 255, 255, 255, 1, 0, 0, 0], [20, 0, 0, 0, 9, 0, 0, 0]] as [[UInt8]])
    func afterAFaultNothing(_ head: [UInt8]) async throws {
        try await serving(Self.sized) { server, endpoint in
            let client = try RawClient(endpoint)
            client.send(Self.sized(1, [1, 2, 3]) + head + Self.sized(1, [4, 5, 6]))
            #expect(try client.bytes(100) == Self.answer(1, 1) + Self.answer(head[4], 0))
            #expect(server.tree.count == 1)
        }
    }

    /// A connection that ends inside an upload leaves neither a file nor a part.
    @Test func halfAnUploadIsNothing() async throws {
        try await serving(Self.sized) { server, endpoint in
            let client = try RawClient(endpoint)
            client.send(Array(Self.sized(3, Self.png).dropLast()))
            client.endSending()
            #expect(try client.bytes(1).isEmpty)
            #expect(server.tree.isEmpty && server.parts.isEmpty)
        }
    }

    /// A withdrawn upload is incomplete, so it is named by its declared or guessed kind: half a character at the end
    /// does not make a text binary.
    @Test func whatIsTakenBackIsCalledWhatItWas() async throws {
        let uploads: [(kind: ContentKind?, content: [UInt8])] = [(nil, Array("你好".utf8).dropLast()), (.text, [])]
        try await serving(.header7) { server, endpoint in
            let client = try RawClient(endpoint)
            for (index, upload) in uploads.enumerated() {
                let id = UInt64(index + 1)
                let requests: [MessageRequest] = [
                    .begin(id: id, name: nil, kind: upload.kind, size: nil), .chunk(id: id, content: upload.content),
                    .abort(id: id, reason: nil),
                ]
                client.send(requests.flatMap { $0.bytes(in: Header7Framing.self) ?? [] })
                let header = try client.bytes(7)
                let result = String(decoding: try client.bytes(Int(header[5]) << 8 | Int(header[6])), as: UTF8.self)
                #expect(result.contains(#""result":"aborted","name":"text-20"#), "\(result)")
            }
            #expect(server.tree.isEmpty && server.parts.isEmpty)
        }
    }

    /// A client whose bytes the server did not read for longer than the timeout is given up once the server reads
    /// again.
    @Test(.oneServer) func silenceBehindAPause() async throws {
        try await growingTimeout(from: 100) { silence in
            try await serving(Self.sized, change: { $0.timeouts.silence = .milliseconds(silence) }) {
                server, endpoint in
                let (core, gate) = (server.server.core, Gate())
                defer { gate.open() }
                let threads = core.transport.pool.limit
                for _ in 0..<threads { core.transport.pool.submit { gate.pass() } }
                try server.waitUntil("no thread is free") { gate.waiting == threads }
                let client = try RawClient(endpoint)
                let content = [UInt8](repeating: 1, count: 32 << 20)
                let (writer, wasTaken) = client.sendUntilStalled(
                    Array(Self.sized(3, content).dropLast()), milliseconds: Int32(10 * silence))
                defer { writer.join() }
                // A client that was given up before it stalled may have sent all bytes in vain.
                try early(!wasTaken)
                gate.open()
                #expect(try client.bytes(100) == Self.answer(3, 0))
                #expect(server.tree.isEmpty && server.parts.isEmpty)
            }
        }
    }

    /// The server answers silence inside an upload with 0. It sends no answer between uploads.
    @Test func silenceInsideAnUpload() async throws {
        try await growingTimeout(from: 200) { milliseconds in
            try await serving(Self.sized, change: { $0.timeouts.silence = .milliseconds(milliseconds) }) {
                server, endpoint in
                let idle = try RawClient(endpoint)
                let client = try RawClient(endpoint)
                client.send(Array(Self.sized(3, Self.png).dropLast()))
                #expect(try client.bytes(100) == Self.answer(3, 0))
                #expect(server.tree.isEmpty && server.parts.isEmpty)
                idle.send(Self.sized(1, [1]))
                try early(idle.bytes(12) == Self.answer(1, 1))
            }
        }
    }

    /// An idle client gets no answer, because it could consider this the answer to its next upload.
    @Test func anIdleClientIsClosedWithoutAWord() async throws {
        try await growingTimeout(from: 200) { milliseconds in
            try await serving(Self.sized, change: { $0.timeouts.idle = .milliseconds(milliseconds) }) { _, endpoint in
                let client = try RawClient(endpoint)
                #expect(try client.bytes(1).isEmpty)
                let used = try RawClient(endpoint)
                used.send(Self.sized(1, [1]))
                try early(used.bytes(100) == Self.answer(1, 1))
            }
        }
    }

    @Test func whatIsTooLargeIsRefused() async throws {
        try await serving(Self.sized, [("max-upload", "1000")]) { server, endpoint in
            let client = try RawClient(endpoint)
            // The upload is refused before the client sends any of the content.
            client.send(Array(Self.sized(3, Self.png).prefix(8)))
            #expect(try client.bytes(12) == Self.answer(3, 0))
            client.send(Self.png + Self.sized(1, [1]))
            #expect(try client.bytes(12) == Self.answer(1, 1))
            #expect(server.tree.count == 1 && server.parts.isEmpty)
        }
    }

    @Test func aQuotaIsForAllClientsOfAListener() async throws {
        try await serving(Self.sized, [("quota", "12000")]) { server, endpoint in
            for result in [1, 0] as [UInt8] {
                let client = try RawClient(endpoint)
                client.send(Self.sized(3, Self.png))
                #expect(try client.bytes(12) == Self.answer(3, result))
            }
            #expect(server.tree.count == 1)
        }
    }

    /// Texts in buffers, with garbage after their end, and the word that ends the conversation.
    @Test func textsInBuffers() async throws {
        try await serving(.text) { server, endpoint in
            func buffer(_ text: String) -> [UInt8] {
                let front = Array(text.utf8) + [0]
                return front + [UInt8](repeating: 0xEE, count: 1024 - front.count)
            }
            let client = try RawClient(endpoint)
            client.send(buffer("one") + buffer("two") + buffer("exit") + buffer("three"))
            #expect(try client.bytes(1).isEmpty)
            #expect(Set(server.tree.compactMap { server.content($0) }) == [Array("one".utf8), Array("two".utf8)])
            #expect(server.tree.allSatisfy { $0.hasPrefix("text-") && $0.hasSuffix(".txt") })
        }
    }

    /// Encodes a message of header7, version 1.
    private static func header7(_ function: UInt8, _ json: String) -> [UInt8] {
        let body = Array(json.utf8)
        return [0, 1, 0, function, 0, UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
    }

    /// A refused upload leaves no visible file, and the answer does not name the folder.
    @Test func aFailureNamesNoPath() async throws {
        try await serving(.header7, [("folder", "hidden"), ("max-upload", "3")]) { server, endpoint in
            let client = try RawClient(endpoint)
            client.send(
                Self.header7(16, #"{"id":1,"name":"a.txt"}"#) + Self.header7(18, #"{"id":1,"data":"YWJjZA=="}"#)
                    + Self.header7(20, #"{"id":1,"size":4}"#))
            let header = try client.bytes(7)
            #expect(header.prefix(4) == [0, 1, 0, 23])
            let text = String(decoding: try client.bytes(Int(header[5]) << 8 + Int(header[6])), as: UTF8.self)
            #expect(text.contains("uploadTooLarge") && text.contains("a.txt"))
            #expect(!text.contains("hidden") && !text.contains("path"))
            #expect(server.tree.allSatisfy { !$0.hasSuffix("a.txt") })
        }
    }

    /// Thousands of small values in one message would occupy a loop as long as megabytes of content do.
    @Test func oneMessageHasFewValues() async throws {
        try await serving(.header7) { _, endpoint in
            let client = try RawClient(endpoint)
            let zeros = Array(repeating: "0", count: 1000).joined(separator: ",")
            client.send(Self.header7(3, "{\"x\":[\(zeros)]}"))
            let answer = try client.bytes(4096)
            #expect(String(decoding: answer.dropFirst(7), as: UTF8.self).contains("malformedFrame"))
        }
    }

    /// A stopping server lets an upload finish that has begun, and accepts no other.
    @Test(.oneServer) func aStoppingServerTakesNoOthers() async throws {
        try await TransferServerTests.serving({ configuration in
            configuration.classic = [ClassicListener(Self.sized, on: TestServer.anyPort, AccessOptions())]
        }) { server in
            let client = try RawClient(server.classicEndpoint())
            client.send(Array(Self.sized(3, Self.png).prefix(100)))
            try server.waitUntil("the upload has begun") { !server.connections.filter(\.isEstablished).isEmpty }
            server.beginShutDown()
            server.waitUntilClosed()
            client.send(Array(Self.sized(3, Self.png).dropFirst(100)))
            #expect(try client.bytes(12) == Self.answer(3, 1))
            client.send(Self.sized(1, [1]))
            #expect(try client.bytes(12) != Self.answer(1, 1))
            #expect(server.tree.count == 1)
        }
    }
}

extension TestServer {
    /// Address of the only classic listener.
    fileprivate func classicEndpoint() throws -> Endpoint {
        guard let endpoint = classicEndpoints.first else { throw RawClient.Failure(description: "no classic listener") }
        return endpoint
    }

    /// States of the connections, as reports show them.
    fileprivate var connections: [ConnectionProgress.State] { server.core.observability.connections.all.map(\.present) }
}
