import Testing
import TransferModel
import TransferTestSupport

@testable import TransferProtocol

/// Both machines talk to each other through real bytes. The seed decides which side acts next, how many bytes arrive,
/// and when results are sent.
@Suite struct ConnectionPairTests {
    @Test(arguments: 0..<30 as Range<UInt64>) func everyUploadGetsItsResult(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let longest = [8, 40, 1_000, 100_000].randomElement(using: &generator) ?? 8
        let uploads = (1...40 as ClosedRange<UInt64>).map { number in
            upload(number, largest: longest > 1_000 ? 70_000 : 50, using: &generator)
        }
        let pair = try run(uploads, longest: longest, using: &generator)
        #expect(pair.client.machine.isSettled)
        #expect(pair.server.machine.isSettled)
        #expect(pair.client.results.count == uploads.count)
        for upload in uploads { check(upload, pair.client, pair.server) }
    }

    private func check(_ upload: ClientPeer.Upload, _ client: ClientPeer, _ server: ServerPeer) {
        let id = upload.begin.id
        let code = client.results[id]?.code
        switch ServerPeer.Fate(id) {
        case .rejectedAtOnce: #expect(code == .invalidPath)
        case .rejectedAtData where !upload.content.isEmpty: #expect(code == .storageFailed)
        case _ where upload.isAborted: #expect(code == .aborted)
        case .rejectedAtEnd: #expect(code == .digestMismatch)
        case .committed, .rejectedAtData: #expect(code == .committed)
        }
        #expect(server.stored[id] == (code == .committed ? upload.content : nil))
    }

    private func upload(
        _ number: UInt64, largest: Int, using generator: inout SplitMix64
    ) -> ClientPeer.Upload {
        let pieces = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
            generator.bytes(Int.random(in: 0...9, using: &generator) == 0 ? largest : Int(generator.next() % 50))
        }
        let begin = Begin(
            id: UploadID(high: generator.next(), low: number << 2 | generator.next() % 4), path: "a", size: nil,
            expectsAccept: Bool.random(using: &generator))
        return ClientPeer.Upload(
            begin: begin, pieces: pieces, isAborted: Int.random(in: 0...5, using: &generator) == 0)
    }

    private func run(
        _ uploads: [ClientPeer.Upload], longest: Int, using generator: inout SplitMix64
    ) throws -> (client: ClientPeer, server: ServerPeer) {
        var up = Link()
        var down = Link()
        var client = ClientPeer(uploads, to: &up)
        var server = ServerPeer()
        for _ in 0..<100_000 {
            switch Int.random(in: 0...99, using: &generator) {
            case 0..<20: client.act(&up, using: &generator)
            case 20..<30: server.settle(&down, using: &generator)
            case 30: if server.machine.isOpen { down.send(.ping(generator.next())) }
            case 31: if !client.hasSaidGoodbye { up.send(.ping(generator.next())) }
            case 32..<66:
                for arrival in try up.deliver(Int.random(in: 0...longest, using: &generator)) {
                    try server.receive(arrival, &down)
                }
            default:
                for arrival in try down.deliver(Int.random(in: 0...longest, using: &generator)) {
                    try client.receive(arrival, &up)
                }
            }
            if server.isClosing, !server.hasPending, up.isEmpty, down.isEmpty { return (client, server) }
        }
        Issue.record("the conversation does not end")
        return (client, server)
    }
}
