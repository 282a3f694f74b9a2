import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport

/// One bit of a frame is flipped in transit. The content is intact, so only the checksum of the frame reveals the
/// damage.
@Suite struct DamagedFrameTests {
    private static let name = "abcdefgh"

    /// Length of an encoded message without the checksum at its end.
    private static func size(_ message: Message) -> Int {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        return frame.count
    }

    /// Each flipped bit makes another legal path, except where it makes a separator.
    @Test(arguments: 0..<name.utf8.count, [0, 2] as [UInt8])
    func aDamagedPathStoresNothingElsewhere(_ index: Int, bit: UInt8) async throws {
        let hello = Self.size(.hello(Hello(agent: ClientConfiguration().agent, run: 1)))
        // The header and the fields before the path in a `begin` with a size.
        let place = hello + FrameHeader.shortSize + 30 + index
        let up = FaultPlan([(place, .flip(bit: bit))])
        try await push(.init(up: up)) { server, outcome in
            #expect(server.tree == [Self.name])
            #expect(outcome.connections == 2)
        }
    }

    @Test func aDamagedAcknowledgementIsNotTaken() async throws {
        let welcome = Self.size(
            .welcome(
                Welcome(
                    agent: "", keeps: 1, serverKey: [UInt8](repeating: 0, count: 32),
                    directory: [UInt8](repeating: 0, count: Welcome.directorySize))))
        // The offset of the result code; the flipped bit turns `committed` into `skipped`.
        let place = welcome + FrameHeader.shortSize + 17
        try await push(.init(down: FaultPlan([(place, .flip(bit: 1))]))) { server, outcome in
            #expect(server.tree == [Self.name])
            #expect(outcome.connections == 2)
        }
    }

    /// A damaged ID is another ID. If the server knew that ID, the client would skip the upload and the file would
    /// never be stored.
    @Test(arguments: [0, 7, 15]) func aDamagedQuestionIsNotAnswered(_ index: Int) async throws {
        let hello = Self.size(.hello(Hello(agent: ClientConfiguration().agent, run: 1)))
        // The header, the digest function and the count precede the ID.
        let place = hello + FrameHeader.shortSize + 3 + index
        let sources = try TemporaryDirectory()
        // The file is long enough for a lookup.
        let content = [UInt8](repeating: 7, count: 20_000)
        try Files.write(sources.path("file"), content)
        try await withServer { server in
            let proxy = FaultyProxy(to: server.port) {
                $0 == 0 ? .init(up: FaultPlan([(place, .flip(bit: 1))])) : .init()
            }
            let outcome = try await proxy.address.outcome([.path(sources.path("file"))])
            #expect(outcome.codes == [.committed] && outcome.connections == 2)
            #expect(server.stored("file") == content)
            withExtendedLifetime(proxy) {}
        }
    }

    private func push(
        _ plan: FaultyProxy.Plan, _ check: (RunningServer, Outcome) -> Void
    ) async throws {
        try await withServer { server in
            let proxy = FaultyProxy(to: server.port) { $0 == 0 ? plan : .init() }
            let content = Array("content".utf8)
            let outcome = try await proxy.address.outcome([.bytes(content, name: Self.name)])
            #expect(outcome.failure == nil)
            #expect(outcome.codes.map(\.class) == [.success])
            #expect(outcome.reports.first?.storedPath == Self.name)
            #expect(server.stored(Self.name) == content)
            check(server, outcome)
            withExtendedLifetime(proxy) {}
        }
    }
}
