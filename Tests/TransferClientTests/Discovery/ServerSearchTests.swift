import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct ServerSearchTests {
    private static func search(_ places: [SocketAddress]) throws -> ServerSearch {
        var search = ServerSearch()
        search.known = nil
        search.patience = 0.3
        search.places = try places.map { ServerAddress(try #require($0.endpoint), folder: "") }
        return search
    }

    private static func service() throws -> DatagramService {
        try DatagramService([try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))])
    }

    @Test func whoeverAnswersIsFoundOnce() async throws {
        let service = try Self.service()
        let name = try #require(DiscoveryName("nas"))
        let questions = Locked(0)
        try service.run(name: "test") { socket, arrival, bytes in
            guard case .probe(let nonce)? = try? DiscoveryDatagram.decode(bytes) else { return }
            questions.withLock { $0 += 1 }
            let answer = DiscoveryAnswer(nonce, instance: 1, keyDigest: nil, ports: [5], name: name)
            // Forged answers arrive before and after the genuine one.
            let forged = DiscoveryAnswer(
                DiscoveryNonce(high: 0, low: 0), instance: 2, keyDigest: nil, ports: [6], name: name)
            for content in [forged?.bytes, answer?.bytes, [1, 2], answer?.bytes].compactMap(\.self) {
                try? socket.send(content[...], to: arrival.source)
            }
        }
        var search = try Self.search(service.sockets.map(\.address))
        // The answers to all questions arrive before the search ends.
        search.patience = 3
        let found = try await search.servers()
        #expect(found.map(\.address.server) == ["127.0.0.1:5"] && found.map(\.name) == ["nas"])
        #expect(questions.withLock { $0 } == 3, "datagrams get lost")
        service.close()
    }

    @Test func nobodyAnswers() async throws {
        let silent = try Self.service()
        #expect(try await Self.search(silent.sockets.map(\.address)).servers().isEmpty)
    }

    @Test func aHostThatIsNotThere() async throws {
        var search = ServerSearch()
        search.known = nil
        search.places = [try #require(ServerAddress("256.0.0.1:1"))]
        let failure = await #expect(throws: TransferFailure.self) { try await search.servers() }
        #expect(failure?.reason == .unreachable)
    }

    @Test func aListThatCannotBeReadIsSaid() async throws {
        let directory = try TemporaryDirectory()
        var search = ServerSearch()
        search.known = KnownServers(path: directory.path)
        let failure = await #expect(throws: TransferFailure.self) { try await search.servers() }
        #expect(failure?.reason == .untrusted)
    }
}
