import Testing
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferTestSupport

@testable import TransferClient

/// A suite in which bob receives files that alice has sealed for him.
protocol SealedReceiving {
    var here: TemporaryDirectory { get }
    var alice: Correspondent { get }
    var bob: Correspondent { get }
}

private let longContent = SplitMix64.bytes(seed: 2, 9 << 20)

extension SealedReceiving {
    /// Content of more than two blocks.
    static var long: [UInt8] { longContent }

    var out: String { here.path("out") }
    var people: KnownPeople { KnownPeople(path: here.path("known_people")) }
    static var text: [UInt8] { Array("a secret".utf8) }

    func content(_ path: String) -> [UInt8]? { Files.read("\(out)/\(path)") }

    func sealed(
        _ path: String, _ content: [UInt8] = Self.text, _ change: (inout Parcel.Details) -> Void = { _ in }
    ) throws -> Parcel {
        try Parcel(path, content, by: alice.key, for: [bob.sealing], change)
    }

    func receive(
        _ mailbox: FakeMailbox, to directory: String? = nil, _ change: (inout ReceiveOptions) -> Void = { _ in },
        configured: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Received {
        var options = ReceiveOptions()
        change(&options)
        return try await Received(from: mailbox, to: directory ?? out, options) { configuration in
            configuration.key = bob.key
            configuration.sealing = bob.identity(people.path)
            configured(&configuration)
        }
    }

    /// Expects that the delivery fails with this code, leaves no files and stays on the server.
    func expectWaiting(
        _ mailbox: FakeMailbox, _ code: ResultCode, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let received = try await receive(mailbox)
        #expect(received.reports.map(\.result) == [code], sourceLocation: sourceLocation)
        #expect(mailbox.states == [.queued] && mailbox.settles.isEmpty, sourceLocation: sourceLocation)
        #expect(Files.tree(out) == [] && names(in: out) == [], sourceLocation: sourceLocation)
        #expect(received.reports.first?.path == nil, sourceLocation: sourceLocation)
        return received.reports.first?.message ?? ""
    }
}
