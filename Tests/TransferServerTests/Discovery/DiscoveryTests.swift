import Glibc
import Testing
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Servers that can be discovered, on loopback.
    @Suite(.directoryOnly) struct DiscoveryTests {
        private static let nonce = DiscoveryNonce(high: 5, low: 6)
        private static let probe = DiscoveryDatagram.probe(with: nonce)

        private static func options(_ name: String = "nas") throws -> DiscoveryOptions {
            DiscoveryOptions(name: try #require(DiscoveryName(name)))
        }

        @Test(arguments: ["127.0.0.1", "::1"]) func itIsFound(_ host: String) async throws {
            let options = try Self.options()
            try await serving({ $0.discovery = options }, listen: [.internet(host: host, port: 0)]) { server in
                let client = try DatagramClient(server.endpoint)
                let answer = try client.answer(to: Self.probe)
                #expect(answer.nonce == Self.nonce && answer.name.text == "nas" && answer.keyDigest == nil)
                #expect(answer.ports == [client.port])
                try server.checkServes()
            }
        }

        @Test func itTellsTheKeyThatItShows() async throws {
            let options = try Self.options()
            try await serving {
                ($0.discovery, $0.security, $0.access) = (options, .identity, .everyone)
            } _: { server in
                let answer = try DatagramClient(server.endpoint).answer(to: Self.probe)
                let own = server.server.core.transport.tls?.key.map { KeyFingerprint(of: $0.bytes).digest.bytes }
                #expect(own != nil && answer.keyDigest == own)
            }
        }

        @Test func whateverComesGoesBack() async throws {
            let options = try Self.options()
            try await serving({ $0.discovery = options }) { server in
                let client = try DatagramClient(server.endpoint)
                let contents: [[UInt8]] = [
                    [], Array("exit".utf8), [0, 0xF5, 1], [UInt8](repeating: 9, count: 20_000),
                ]
                for bytes in contents {
                    try client.send(bytes)
                    let (arrival, echo) = try client.next()
                    #expect(echo == bytes && arrival.trafficClass == DiscoveryResponder.mark && arrival.hops == 63)
                }
            }
        }

        /// The server answers none of these datagrams: the next answer is that to the question after them.
        @Test func whatIsPassedOver() async throws {
            let options = try Self.options()
            try await serving({ $0.discovery = options }) { server in
                let client = try DatagramClient(server.endpoint)
                let answer = try client.answer(to: Self.probe).bytes
                var other = Self.probe
                other[8] = 2
                for bytes in [answer, Array(Self.probe.dropLast()), Self.probe + [0], other, DiscoveryDatagram.magic] {
                    try client.send(bytes)
                }
                _ = try client.answer(to: Self.probe)
            }
        }

        /// A server does not answer the datagrams of another server.
        @Test func twoServersDoNotTalk() async throws {
            let (one, two) = (try Self.options("one"), try Self.options("two"))
            let other = try await TestServer(
                { $0.discovery = two }, listen: [TestServer.anyPort], log: TestServer.noLog, in: .init())
            try await serving({ $0.discovery = one }) { server in
                let (first, second) = (try DatagramClient(server.endpoint), try DatagramClient(other.endpoint))
                for bytes in [Array("ping".utf8), Self.probe] {
                    try first.send(bytes)
                    let (arrival, content) = try first.next()
                    try second.send(content, hops: arrival.hops ?? 0, trafficClass: arrival.trafficClass ?? 0)
                    #expect(try second.answer(to: Self.probe).name.text == "two")
                }
            }
            await other.end()
        }

        @Test func aFloodIsNotAnsweredInFull() async throws {
            let options = try Self.options()
            try await serving({ $0.discovery = options }) { server in
                let client = try DatagramClient(server.endpoint)
                let begun = MonotonicTime.now
                for number in 0..<5_000 { try client.send(number % 2 == 0 ? Self.probe : [1, 2, 3]) }
                try server.checkServes()
                var count = 0
                while try client.nextNow() != nil { count += 1 }
                let seconds = (MonotonicTime.now - begun).seconds
                #expect(count >= 1 && Double(count) <= 65 + 20 * seconds)
            }
        }

        /// The limit covers all sockets of a server together.
        @Test func aFloodOfSeveralPlacesIsNotAnsweredInFull() async throws {
            var options = try Self.options()
            options.endpoints = Array(repeating: TestServer.anyPort, count: 3)
            let server = try await TestServer(
                { [options] in $0.discovery = options }, listen: [TestServer.anyPort], log: TestServer.noLog,
                in: .init())
            let places = await server.server.discovery?.addresses.compactMap(\.endpoint) ?? []
            #expect(places.count == 3)
            try await TestThread.run {
                let clients = try places.map { try DatagramClient($0) }
                let begun = MonotonicTime.now
                for _ in 0..<1_000 { for client in clients { try client.send(Self.probe) } }
                try server.checkServes()
                var count = 0
                for client in clients { while try client.nextNow() != nil { count += 1 } }
                let seconds = (MonotonicTime.now - begun).seconds
                #expect(count >= 1 && Double(count) <= 65 + 20 * seconds, "\(count)")
            }
            await server.end()
        }

        @Test func aBroadcastOnItsOwnNetworkIsAnswered() async throws {
            let options = try Self.options()
            let everywhere = [Endpoint.internet(host: "0.0.0.0", port: 0)]
            try await serving(
                { ($0.discovery, $0.security) = (options, .plaintext(beyondThisMachine: true)) }, listen: everywhere
            ) { server in
                guard case .internet(_, let port) = server.endpoint else { return }
                let client = try DatagramClient(.internet(host: "127.255.255.255", port: port))
                try client.send(Self.probe)
                let (arrival, bytes) = try client.next()
                guard case .answer(let answer) = try DiscoveryDatagram.decode(bytes[...]) else {
                    Issue.record("no answer")
                    return
                }
                #expect(answer.ports == [port] && arrival.source.isLocal && arrival.hops == 1)
            }
        }

        @Test func nobodyIsToldWithoutBeingAsked() async throws {
            try await whereThePortIsFree {
                try await serving { server in
                    let address = try server.endpoint.resolve()[0]
                    // No program uses the UDP port.
                    _ = try DatagramSocket(address)
                }
            }
        }

        @Test func aPortInUseSaysWhatToDo() async throws {
            let taken = try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))
            let directory = try TemporaryDirectory()
            var configuration = ServerConfiguration(directory: directory.path, endpoints: [TestServer.anyPort])
            configuration.discovery = try Self.options()
            configuration.discovery?.endpoints = [try #require(taken.address.endpoint)]
            let server = try Server(configuration, log: TestServer.noLog)
            let error = await #expect(throws: ServerError.self) { try await server.start() }
            #expect(error?.message.contains("\(taken.address) (UDP)") ?? false)
            #expect(error?.message.contains("--discover-listen") ?? false)
            await server.shutDown()
        }

        /// The message must not send the operator after another program if the server's own addresses overlap.
        @Test(arguments: [
            (["127.0.0.1", "127.0.0.1"], "--discover-listen gives it twice"),
            (["0.0.0.0", "127.0.0.1"], "overlaps with 0.0.0.0:"),
            (["127.0.0.1", "0.0.0.0"], "overlaps with 127.0.0.1:"),
        ])
        func ownPlacesThatOverlap(_ hosts: [String], _ words: String) async throws {
            var message = "Another program"
            // Another test may take the port in the meantime.
            for _ in 0..<10 where message.contains("Another program") {
                let free = try DatagramSocket(SocketAddress(.ipv4(0), port: 0))
                let port = try #require(free.address.port)
                free.close()
                let directory = try TemporaryDirectory()
                var configuration = ServerConfiguration(directory: directory.path, endpoints: [TestServer.anyPort])
                configuration.discovery = try Self.options()
                configuration.discovery?.endpoints = hosts.map { .internet(host: $0, port: port) }
                let server = try Server(configuration, log: TestServer.noLog)
                message = await #expect(throws: ServerError.self) { try await server.start() }?.message ?? ""
                await server.shutDown()
            }
            #expect(message.contains(words), "\(message)")
        }

        /// If the port for discovery is taken, a server that replaces another one starts without discovery: clients
        /// that already know the server need no discovery.
        @Test func aRestartGoesOnWithout() async throws {
            let taken = try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))
            var options = try Self.options()
            options.endpoints = [try #require(taken.address.endpoint)]
            try await serving { [options] in
                ($0.discovery, $0.supervision) = (options, .init(restarts: 1))
            } _: { server in
                try server.checkServes()
            }
        }

        @Test func aUnixSocketAloneCannotBeFound() async throws {
            let directory = try TemporaryDirectory()
            var configuration = ServerConfiguration(
                directory: directory.path("in"), endpoints: [.unix(path: directory.path("socket"))])
            configuration.discovery = try Self.options()
            let server = try Server(configuration, log: TestServer.noLog)
            let error = await #expect(throws: ServerError.self) { try await server.start() }
            #expect(error?.message.contains("--listen") ?? false)
            await server.shutDown()
        }

        @Test func whenItStopsThePortIsFree() async throws {
            let options = try Self.options()
            try await whereThePortIsFree {
                let place = Locked<SocketAddress?>(nil)
                try await serving({ $0.discovery = options }) { server in
                    let address = try server.endpoint.resolve()[0]
                    #expect(throws: SystemError.self) { try DatagramSocket(address) }
                    place.withLock { $0 = address }
                }
                _ = try DatagramSocket(try #require(place.withLock { $0 }))
            }
        }
    }
}

/// Sends datagrams to one address, and waits for answers.
private final class DatagramClient {
    private let socket: DatagramSocket
    private let place: SocketAddress
    private var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)

    var port: UInt16 { place.port ?? 0 }

    init(_ endpoint: Endpoint) throws {
        place = try endpoint.resolve()[0]
        let own = place.family == AF_INET ? IPAddress.ipv4Loopback : .ipv6Loopback
        socket = try DatagramSocket(SocketAddress(own, port: 0), broadcasts: place.family == AF_INET)
    }

    func send(_ bytes: [UInt8], hops: UInt8 = 64, trafficClass: UInt8 = 0) throws {
        try socket.send(bytes[...], to: place, hops: hops, trafficClass: trafficClass)
    }

    func next() throws -> (DatagramArrival, [UInt8]) {
        DatagramSocket.wait(for: [socket], milliseconds: 20_000)
        return try #require(try nextNow())
    }

    func nextNow() throws -> (DatagramArrival, [UInt8])? {
        try socket.receive(into: &buffer).map { ($0, Array(buffer[..<$0.count])) }
    }

    func answer(to probe: [UInt8]) throws -> DiscoveryAnswer {
        try send(probe)
        let (_, bytes) = try next()
        guard case .answer(let answer) = try DiscoveryDatagram.decode(bytes[...]) else {
            throw RawClient.Failure(description: "no answer: \(bytes)")
        }
        return answer
    }
}
