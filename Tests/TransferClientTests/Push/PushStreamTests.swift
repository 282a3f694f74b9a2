import Glibc
import Testing
import TransferClient
import TransferCodec
import TransferModel
import TransferServer
import TransferSystem
import TransferTestSupport

@Suite struct PushStreamTests {
    @Test(arguments: [0, 1, 4095, 4096, 4097, 65_535, 262_144, 4 << 20, (4 << 20) + 1, 9 << 20])
    func streamsArrive(_ size: Int) async throws {
        try await withServer { server in
            var generator = SplitMix64(seed: UInt64(size))
            let content = generator.bytes(size)
            var pieces: [[UInt8]] = []
            var rest = content[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...200_000, using: &generator))
                pieces.append(Array(piece))
                rest = rest.dropFirst(piece.count)
            }
            let outcome = try await server.address.outcome([
                .text("before", name: "before"), .stream(PieceSource(pieces), name: "stream"),
                .text("after", name: "after"),
            ])
            #expect(outcome.codes == [.committed, .committed, .committed])
            #expect(outcome.losses.isEmpty)
            let report = try #require(outcome["stream"])
            #expect(report.size == UInt64(size))
            #expect(report.digest == ContentDigester.digest(.xxh128, content))
            let isStored = server.stored("stream") == content
            #expect(isStored)
        }
    }

    @Test(arguments: ClientConfiguration.Compression.allCases)
    func oneByteAtATime(_ compression: ClientConfiguration.Compression) async throws {
        try await withServer { server in
            let content = Array("Zeichen für Zeichen: 字, one at a time.".utf8)
            let outcome = try await server.address.outcome([
                .stream(PieceSource(content.map { [$0] }), name: "slow.txt")
            ]) { $0.compression = compression }
            #expect(outcome.codes == [.committed])
            #expect(outcome.reports.first?.kind == .text)
            #expect(server.stored("slow.txt") == content)
        }
    }

    @Test(arguments: [0, 10, 300_000, 5 << 20])
    func aBrokenStreamCostsOnlyItself(_ size: Int) async throws {
        try await withServer { server in
            let pieces = size > 0 ? [Array(repeating: UInt8(1), count: size)] : []
            let outcome = try await server.address.outcome([
                .stream(PieceSource(pieces, breaks: true), name: "broken"), .text("after", name: "after"),
            ])
            #expect(outcome.failure == nil)
            #expect(outcome["broken"]?.result == .sourceUnreadable)
            #expect(outcome["broken"]?.message.contains("Broken") == true)
            #expect(outcome["after"]?.result == .committed)
            #expect(server.tree == ["after"])
            #expect(server.parts.isEmpty)
        }
    }

    /// With several lanes, blocks of the stream are in transit when it breaks.
    @Test(arguments: [1, 4]) func nothingStaysOfALongStreamThatBreaks(_ lanes: Int) async throws {
        try await withServer { server in
            let pieces = (0..<9).map { _ in [UInt8](repeating: 1, count: 3 << 20) }
            let outcome = try await server.address.outcome([
                .stream(PieceSource(pieces, breaks: true), name: "broken"), .text("after", name: "after"),
            ]) { $0.lanes = .fixed(lanes) }
            #expect(outcome["broken"]?.result == .sourceUnreadable)
            #expect(outcome["after"]?.result == .committed)
            #expect(outcome.losses.isEmpty)
            #expect(server.tree == ["after"] && server.parts.isEmpty)
        }
    }

    /// The client stops reading a stream whose upload was refused.
    @Test(arguments: [ResultCode.skipped, .uploadTooLarge])
    func anEndlessStreamThatIsRefusedIsOver(_ code: ResultCode) async throws {
        /// Returns many times the bytes that may be sent, but ends eventually if the client does not stop reading.
        final class Endless: ByteSource {
            private let left = Locked(256 << 20)

            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                left.withLock { left in
                    let count = min(left, buffer.count)
                    left -= count
                    return count
                }
            }
        }
        let server = try await RunningServer(in: TemporaryDirectory()) {
            if code == .uploadTooLarge { $0.maximumUpload = 21 << 20 }
        }
        let before = try await server.address.outcome([.text("mine", name: "taken")])
        #expect(before.codes == [.committed])
        let outcome = try await server.address.outcome([
            .stream(Endless(), name: code == .skipped ? "taken" : "endless"), .text("after", name: "after"),
        ]) { $0.conflict = .skip }
        #expect(outcome.failure == nil)
        #expect(outcome.losses.isEmpty)
        #expect(outcome.reports.first { $0.source != "after" }?.result == code)
        #expect(outcome["after"]?.result == .committed)
        #expect(server.tree == ["after", "taken"])
        #expect(server.parts.isEmpty)
        await server.stop()
    }

    @Test func aDescriptorIsAStream() async throws {
        try await withServer { server in
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            defer { close(ends[0]) }
            let content = Array(repeating: UInt8(ascii: "x"), count: 3000)
            #expect(write(ends[1], content, content.count) == content.count)
            close(ends[1])
            let outcome = try await server.address.outcome([.stream(DescriptorSource(ends[0]), name: "stdin")])
            #expect(outcome.codes == [.committed])
            #expect(server.stored("stdin") == content)
        }
    }

    /// Complete uploads are sent before the client waits for a stream: the report of the first one lets the stream
    /// continue.
    @Test(arguments: [nil, ContentKind.text])
    func aStreamHoldsNothingUpThatCameBefore(_ kind: ContentKind?) async throws {
        try await withServer { server in
            let gate = Gate()
            let client = try TransferClient(server: server.address, configuration: .patient)
            var codes: [ResultCode] = []
            for try await event in client.push([
                .text("first", name: "first"), .stream(GatedSource(gate), name: "stream", kind: kind),
            ]) {
                guard case .finished(let report) = event else { continue }
                codes.append(report.result)
                gate.put(Array("second".utf8))
                gate.put(nil)
            }
            #expect(codes == [.committed, .committed])
            #expect(server.stored("stream") == Array("second".utf8))
        }
    }
}
