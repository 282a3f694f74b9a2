import Testing
import TransferClassic
import TransferIO
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Pushes to old servers that violate their framing.
@Suite(.timeLimit(.minutes(10))) struct ClassicPushFaultTests {
    private static let sized = ClassicTarget(.sized(total: .whole, isAnswered: true))
    private static let stored: [UInt8] = [12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    private static let failed: [UInt8] = [12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]

    /// Answers one connection after the other, and records the bytes of each.
    private final class OldServer: Sendable {
        let port: UInt16
        private let seen = Locked<[[UInt8]]>([])

        /// - Parameter scripts: for each connection: how many bytes to receive before each answer. Then the connection
        ///   is closed.
        init(_ scripts: [(count: Int, answer: [UInt8])]...) {
            let (listener, port) = Wire.listen()
            self.port = port
            onThread { [self] in
                for script in scripts {
                    guard let wire = listener.accept() else { return }
                    var bytes: [UInt8] = []
                    var wanted = 0
                    for (index, (count, answer)) in script.enumerated() {
                        wanted += count
                        while bytes.count < wanted, let more = wire.receive() { bytes += more }
                        // The end of the connection is sent together with the last answer. Otherwise the client could
                        // send its next upload between the answer and the end.
                        wire.send(answer, isHeld: index == script.count - 1)
                    }
                    seen.withLock { $0.append(bytes) }
                    wire.cut()
                }
                listener.cut()
            }
        }

        var connections: [[UInt8]] { seen.withLock { $0 } }

        func outcome(
            _ target: ClassicTarget, _ texts: [String], _ adjust: (inout ClientConfiguration) -> Void = { _ in }
        ) async throws -> Outcome {
            let address = try #require(ServerAddress("127.0.0.1:\(port)"))
            let uploads = texts.map { Upload.text($0, name: $0.isEmpty ? "empty" : String($0.prefix(8))) }
            return try await address.outcome(uploads) {
                $0.classic = target
                $0.retryFor = 2
                adjust(&$0)
            }
        }
    }

    /// An upload whose last byte has left is not sent twice, and the uploads behind it go on.
    @Test func aLostAnswerIsNoRetry() async throws {
        let server = OldServer([(11, [])], [(11, Self.stored)])
        let outcome = try await server.outcome(Self.sized, ["one", "two"])
        #expect(outcome.codes == [.unacknowledged, .stored] && outcome.failure == nil)
        #expect(outcome.reports.first?.message.contains("could store it twice") == true)
        #expect(server.connections.count == 2)
        #expect(server.connections.last?.suffix(3) == Array("two".utf8)[...])
    }

    /// An upload without content is complete with its head: an answer after the head is not too early, and without an
    /// answer the upload is not sent twice.
    @Test func whatIsEmptyLeavesWithItsHead() async throws {
        for _ in 0..<20 {
            let server = OldServer([(8, Self.stored), (1, [])])
            let outcome = try await server.outcome(Self.sized, [""])
            #expect(outcome.codes == [.stored] && outcome.failure == nil)
            let silent = OldServer([(8, [])])
            let lost = try await silent.outcome(Self.sized, [""])
            #expect(lost.codes == [.unacknowledged] && lost.failure == nil && silent.connections.count == 1)
        }
    }

    /// An upload that was cut before its end is sent again.
    @Test func halfAnUploadIsSentAgain() async throws {
        let long = String(repeating: "x", count: 20 << 20)
        let server = OldServer([(100, [])], [(8 + long.utf8.count, Self.stored)])
        let outcome = try await server.outcome(Self.sized, [long])
        #expect(outcome.codes == [.stored] && outcome.failure == nil && outcome.losses.count == 1)
        #expect(outcome.reports.first?.attempts == 2)
    }

    @Test func zeroThenClose() async throws {
        let server = OldServer([(11, Self.failed)], [(11, Self.stored)])
        let outcome = try await server.outcome(Self.sized, ["one", "two"])
        #expect(outcome.codes == [.storageFailed, .stored] && outcome.failure == nil)
    }

    @Test(
        arguments: [
            Array("SSH-2.0-OpenSSH_9.6\r\n".utf8), [12, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0],
            [12, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0], [UInt8](repeating: 255, count: 3000),
        ] as [[UInt8]])
    func whatIsNoAnswer(_ answer: [UInt8]) async throws {
        let server = OldServer([(11, answer), (1, [])])
        let outcome = try await server.outcome(Self.sized, ["one", "two"])
        #expect(outcome.codes == [.unacknowledged, .cancelled])
        #expect(outcome.failure?.reason == .protocolFault)
        #expect(server.connections.count <= 1)
    }

    /// If two answers arrive at once, the first counts, and the second is a fault before the next upload is sent.
    @Test func tooManyAnswers() async throws {
        let server = OldServer([(11, Self.stored + Self.stored), (1, [])])
        let outcome = try await server.outcome(Self.sized, ["one", "two"])
        #expect(outcome.codes == [.stored, .cancelled] && outcome.failure?.reason == .protocolFault)
    }

    @Test func silence() async throws {
        let server = OldServer([(11, []), (1, [])])
        let outcome = try await server.outcome(Self.sized, ["one"]) { $0.silenceTimeout = 2 }
        #expect(outcome.codes == [.unacknowledged] && outcome.failure == nil)
        #expect(outcome.reports.first?.message.contains("Nothing was heard") == true)
    }

    /// A server that receives nothing is given up, and the upload counts as unsent.
    @Test func aServerThatTakesNothing() async throws {
        let (listener, port) = Wire.listen()
        let address = try #require(ServerAddress("127.0.0.1:\(port)"))
        let outcome = try await address.outcome([.text(String(repeating: "x", count: 20 << 20), name: "x")]) {
            $0.classic = Self.sized
            ($0.silenceTimeout, $0.retryFor) = (0.3, 0.1)
        }
        listener.cut()
        #expect(outcome.codes == [.connectionLost] && outcome.failure?.reason == .unreachable)
    }

    /// The client gives up a server that receives nothing, even if it talks all the time.
    @Test(arguments: [
        (
            ClassicTarget(.jsonline, as: ClassicParty(sender: "me", recipient: "bob")),
            JSONLineMessage.heartbeat(from: "bob")
        ),
        (ClassicTarget(.sized(total: .whole, isAnswered: false)), [1, 2, 3]),
        (ClassicTarget(.header7), [0, 1, 0, 4, 0, 0, 0]),
    ])
    func aServerThatTalksAndTakesNothing(_ target: ClassicTarget, _ words: [UInt8]) async throws {
        let (listener, port) = Wire.listen()
        onThread { while let wire = listener.accept() { while wire.send(words) {} } }
        let address = try #require(ServerAddress("127.0.0.1:\(port)"))
        let outcome = try await address.outcome([.text(String(repeating: "x", count: 20 << 20), name: "x")]) {
            $0.classic = target
            ($0.silenceTimeout, $0.retryFor) = (0.3, 0.1)
        }
        listener.cut()
        #expect(outcome.codes == [.connectionLost] && outcome.failure?.reason == .unreachable)
        #expect(outcome.failure?.message.contains("Nothing was heard") == true, "\(outcome)")
    }

    /// The memory for answers to pings is bounded, however many pings a server sends without reading the answers.
    @Test func aFloodOfPings() async throws {
        let directory = try TemporaryDirectory()
        let listener = try Wire.listen(at: directory.path("socket"))
        let id = UInt64(1) << 53
        let ping = try #require(Header7Framing.encode(.ping, ["id": .integer(id)]))
        let result = try #require(Header7Framing.encode(.result, ["id": 1, "code": 1]))
        // Twice as many bytes as the kernel holds on a Unix connection without a reader: 208 KiB (unix(7),
        // wmem_default).
        let count = (416 << 10) / ping.count
        onThread {
            guard let wire = listener.accept() else { return }
            var seen = ""
            while !seen.contains("sha256"), let more = wire.receive() { seen += String(decoding: more, as: UTF8.self) }
            wire.send(Array(repeatElement(ping, count: count).joined()) + result)
            // Waits until the client closes the connection, which it does as soon as it has the result.
            while wire.isOpen {}
        }
        let address = ServerAddress(.unix(path: directory.path("socket")), folder: "")
        var configuration = ClientConfiguration.patient
        configuration.classic = ClassicTarget(.header7)
        let loop = try EventLoop(name: "test")
        let pool = BlockingPool(name: "test", threads: 1)
        let context = RunContext(
            server: address, configuration: configuration, loop: loop, pool: pool,
            buffers: BufferPool(size: OutgoingChunk.capacity, count: 1),
            feed: UploadFeed([.text("one", name: "one")], folder: ""))
        let session = ClassicPushSession(context, ClassicTarget(.header7), announces: true)
        let ending = await session.converse(with: try address.endpoint.resolve()[0])
        let unsent = await session.queued - session.taken
        #expect(ending == .complete)
        #expect(unsent <= UInt64(ClassicPushSession.mostReplies + 1000))
        loop.stop()
        pool.close()
    }

    /// Without room for another block, the source returns instead of blocking a thread of the pool, where it could not
    /// be stopped.
    @Test func aStreamWithoutRoom() throws {
        let stream = BlockStream(PieceSource([[UInt8](repeating: 9, count: 10 << 22)]))
        var blocks: [StreamBlock] = []
        while case .block(let block) = try stream.read() { blocks.append(block) }
        let source = try ClassicSource(
            PendingUpload(.stream(stream), label: "s", destination: "s", kind: nil), ClassicTarget(.header7))
        guard case .noRoom = try source.next(), case .noRoom = try HeldStream(stream).readOn() else {
            Issue.record("there is no room")
            return
        }
        blocks = []
        guard case .piece(let piece, isLast: false) = try source.next() else {
            Issue.record("there is room")
            return
        }
        #expect(piece.count == MessageRequest.chunkSize)
    }

    /// A file that changes while it is sent must never be complete on the server.
    @Test func aChangedFile() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("a.txt")
        try Files.write(path, String(repeating: "x", count: 1000))
        let target = Self.sized
        let source = try ClassicSource(
            PendingUpload(
                .file(SourcePlace(named: path, followsLink: true)), label: path, destination: "a.txt", kind: nil),
            target)
        try Files.write(path, String(repeating: "y", count: 1200))
        #expect(throws: Failure.changed) { _ = try source.next() }
        let shrunk = try ClassicSource(
            PendingUpload(
                .file(SourcePlace(named: path, followsLink: true)), label: path, destination: "a.txt", kind: nil),
            target)
        try Files.write(path, "z")
        #expect(throws: Failure.changed) { _ = try shrunk.next() }
    }

    @Test func aSentenceOfAChat() async throws {
        let target = ClassicTarget(.jsonline, as: ClassicParty(sender: "me", recipient: "bob"))
        let heartbeat = JSONLineMessage.heartbeat(from: "me").count
        let full = JSONLineMessage.forwarded(.text, from: JSONLineMessage.server, size: 5) + Array("Full.".utf8)
        let head = try #require(JSONLineMessage.upload(.text, from: "me", to: "bob", size: 3))
        let server = OldServer([(heartbeat + head.count + 3, full)])
        let outcome = try await server.outcome(target, ["one"])
        #expect(outcome.codes == [.unacknowledged] && outcome.failure == nil)
        #expect(outcome.reports.first?.message.contains("The server says: Full.") == true, "\(outcome.reports)")
        #expect(server.connections.first == JSONLineMessage.heartbeat(from: "me") + head + Array("one".utf8))
    }

    @Test func nobodyListens() async throws {
        let (owner, port) = Wire.listen(backlog: nil)
        defer { withExtendedLifetime(owner) {} }
        let address = try #require(ServerAddress("127.0.0.1:\(port)"))
        let outcome = try await address.outcome([.text("one", name: "one")]) { $0.classic = Self.sized }
        #expect(outcome.codes == [] && outcome.failure?.reason == .unreachable)
    }

    /// Content leaves this machine without encryption only if the caller allows that.
    @Test func otherMachinesNeedConsent() async throws {
        let address = try #require(ServerAddress("192.0.2.1:5288"))
        let outcome = try await address.outcome([.text("one", name: "one")]) { $0.classic = Self.sized }
        #expect(outcome.codes == [.cancelled] && outcome.failure?.reason == .untrusted)
        #expect(throws: TransferFailure.self) {
            var configuration = ClientConfiguration()
            configuration.classic = Self.sized
            _ = try TransferClient(server: address, configuration: configuration)
        }
    }

    @Test func cancelling() async throws {
        let server = OldServer([(11, []), (1, [])])
        let address = try #require(ServerAddress("127.0.0.1:\(server.port)"))
        var configuration = ClientConfiguration.patient
        configuration.classic = Self.sized
        let client = try TransferClient(server: address, configuration: configuration)
        let events = client.push([.text("one", name: "one"), .text("two", name: "two")])
        onThread { events.cancel() }
        let outcome = await Outcome(events)
        #expect(outcome.failure?.reason == .cancelled && !outcome.codes.contains { $0.isSuccess })
    }
}
