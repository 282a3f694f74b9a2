import Testing
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol

@testable import TransferClient

@Suite struct AnswerCollectorTests {
    private static let nonce = DiscoveryNonce(high: 1, low: 2)
    private static let key = [UInt8](repeating: 3, count: 32)
    private static let lan = SocketAddress(.ipv4(0xC0A8_0105), port: 5288)

    private static func answer(
        _ name: String = "nas", nonce: DiscoveryNonce = nonce, instance: UInt64 = 1, key: [UInt8]? = key,
        ports: [UInt16] = [5288]
    ) throws -> ArraySlice<UInt8> {
        let name = try #require(DiscoveryName(name))
        let answer = DiscoveryAnswer(nonce, instance: instance, keyDigest: key, ports: ports, name: name)
        return try #require(answer).bytes[...]
    }

    @Test func anAnswerIsAServer() throws {
        var collector = AnswerCollector(Self.nonce)
        collector.take(try Self.answer(ports: [7, 8]), from: Self.lan)
        let server = try #require(collector.servers([]).first)
        #expect(server.name == "nas" && server.address.server == "192.168.1.5:7" && server.ports == [7, 8])
        #expect(server.fingerprint == Bytes32(Self.key).map { KeyFingerprint($0) } && server.trust == .unknown)
    }

    @Test func whatNobodyAskedForCountsForNothing() throws {
        var collector = AnswerCollector(Self.nonce)
        collector.take(try Self.answer(nonce: DiscoveryNonce(high: 1, low: 3)), from: Self.lan)
        collector.take(DiscoveryDatagram.probe(with: Self.nonce)[...], from: Self.lan)
        collector.take(try Self.answer().dropLast(), from: Self.lan)
        collector.take([], from: Self.lan)
        collector.take([1, 2, 3], from: Self.lan)
        #expect(collector.servers([]).isEmpty)
    }

    @Test func oneServerHasSeveralAddresses() throws {
        var collector = AnswerCollector(Self.nonce)
        let local = SocketAddress(.ipv6(high: 0xFE80 << 48, low: 1), port: 5288)
        let global = SocketAddress(.ipv6(high: 0x2001_0DB8 << 32, low: 1), port: 5288)
        for source in [local, global, Self.lan, SocketAddress(.ipv4Loopback, port: 5288), Self.lan] {
            collector.take(try Self.answer(), from: source)
        }
        let servers = collector.servers([])
        #expect(servers.count == 1)
        #expect(
            servers.first?.addresses.map(\.server) == [
                "127.0.0.1:5288", "192.168.1.5:5288", "[2001:db8::1]:5288", "[fe80::1]:5288",
            ])
    }

    /// Answers with the same name may come from different servers.
    @Test func whatDiffersInAnythingIsAnotherServer() throws {
        var collector = AnswerCollector(Self.nonce)
        let other = [UInt8](repeating: 4, count: 32)
        for bytes in try [
            Self.answer(), Self.answer(instance: 2), Self.answer(key: other), Self.answer(key: nil),
            Self.answer(ports: [1]), Self.answer("nas2"), Self.answer("\u{e9}"), Self.answer("e\u{301}"),
        ] { collector.take(bytes, from: Self.lan) }
        #expect(collector.servers([]).count == 8)
    }

    @Test func theListOfKnownServersIsAsked() throws {
        var collector = AnswerCollector(Self.nonce)
        collector.take(try Self.answer(), from: Self.lan)
        collector.take(try Self.answer(), from: SocketAddress(.ipv4Loopback, port: 5288))
        let key = try #require(Bytes32(Self.key).map { KeyFingerprint($0) })
        let other = KeyFingerprint(of: [1])
        let (here, there) = ("127.0.0.1:5288", "192.168.1.5:5288")
        func first(_ entries: [KnownServers.Entry]) -> (String?, FoundServer.Trust?) {
            let server = collector.servers(entries).first
            return (server?.address.server, server?.trust)
        }
        // A known address ranks first, then an address whose key has changed, about which a push would warn.
        #expect(first([.init(address: there, fingerprint: key)]) == (there, .trusted))
        #expect(first([.init(address: there, fingerprint: other)]) == (there, .keyChanged))
        #expect(
            first([.init(address: there, fingerprint: key), .init(address: here, fingerprint: other)]) == (
                there, .trusted
            ))
        #expect(first([.init(address: "192.168.1.6:5288", fingerprint: key)]) == (here, .unknown))
    }

    @Test func whoeverShowsNoKeyIsNotTheKnownOne() throws {
        var collector = AnswerCollector(Self.nonce)
        collector.take(try Self.answer(key: nil), from: Self.lan)
        let entry = KnownServers.Entry(address: "192.168.1.5:5288", fingerprint: KeyFingerprint(of: [1]))
        #expect(collector.servers([entry]).first?.trust == .keyChanged)
    }

    @Test func aFloodOfAnswersIsBounded() throws {
        var collector = AnswerCollector(Self.nonce)
        for number in 0..<1_000 {
            collector.take(try Self.answer(instance: UInt64(number)), from: Self.lan)
            collector.take(try Self.answer(), from: SocketAddress(.ipv4(UInt32(number)), port: 1))
        }
        let servers = collector.servers([])
        #expect(servers.count == AnswerCollector.mostServers)
        #expect(servers.map(\.addresses.count).max() == AnswerCollector.mostAddresses)
    }

    @Test func serversComeByName() throws {
        var collector = AnswerCollector(Self.nonce)
        for (name, port) in [("b", 1), ("a", 3), ("a", 2)] as [(String, UInt16)] {
            collector.take(try Self.answer(name, ports: [port]), from: Self.lan)
        }
        #expect(collector.servers([]).map { "\($0.name) \($0.ports[0])" } == ["a 2", "a 3", "b 1"])
    }
}
