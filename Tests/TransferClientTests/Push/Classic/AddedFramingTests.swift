import Testing
import TransferAccess
import TransferClassic
import TransferModel
import TransferServer
import TransferTestSupport

@testable import TransferClient

/// Adding a classic framing takes a file, here `DigitsFraming.swift`, and a row of the table.
@Suite(.timeLimit(.minutes(10))) struct AddedFramingTests {
    private static let table = ClassicFraming.standard + [.digits()]

    /// Several uploads, with a long one between short ones, and an empty one.
    private static let contents: [[UInt8]] = [Array("hello".utf8), [], .init(repeating: 7, count: 700_000), [1, 0, 2]]

    /// Pushes over the framing `digits` to a server with a listener for it.
    private func pushing(
        _ options: [(name: String, value: String)] = [], limit: String = "1M",
        _ body: (Outcome, RunningServer) throws -> Void
    ) async throws {
        let framing = try ClassicFraming(name: "digits", options: options, in: Self.table)
        let access = try AccessOptions([("max-upload", limit)])
        let running = try await RunningServer(in: TemporaryDirectory()) { configuration in
            let endpoint = ServerAddress("127.0.0.1:0")?.endpoint
            configuration.classic = endpoint.map { [ClassicListener(framing, on: $0, access)] } ?? []
        }
        let endpoint = try #require(await running.server.classicEndpoints.first)
        let uploads = Self.contents.enumerated().map { Upload.bytes($0.element, name: "\($0.offset)") }
        let outcome = try await ServerAddress(endpoint, folder: "").outcome(uploads) {
            $0.classic = ClassicTarget(framing)
        }
        await running.stop()
        try body(outcome, running)
    }

    @Test(arguments: [[], ["16"], ["16", "10"]]) func uploadsAreStoredAndAnswered(_ radixes: [String]) async throws {
        try await pushing(radixes.map { ("radix", $0) }) { outcome, running in
            #expect(outcome.failure == nil && outcome.connections == 1 && outcome.losses == [])
            #expect(outcome.codes == [.stored, .stored, .stored, .stored])
            let stored = running.tree.compactMap { running.stored($0) }
            #expect(stored.count == 4 && Self.contents.allSatisfy { stored.contains($0) })
        }
    }

    @Test func aRefusalIsAnswered() async throws {
        try await pushing(limit: "1000") { outcome, running in
            #expect(outcome.codes == [.stored, .stored, .storageFailed, .stored])
            #expect(running.tree.count == 3)
        }
    }

    @Test func withoutTheRowThereIsNone() {
        #expect(throws: ClassicFraming.Fault.self) { try ClassicFraming(name: "digits") }
        let fault = #expect(throws: ClassicFraming.Fault.self) {
            try ClassicFraming(name: "digits", options: [("radix", "2")], in: Self.table)
        }
        #expect(fault?.message == "The option 'radix' of digits is 10 or 16.")
    }
}
