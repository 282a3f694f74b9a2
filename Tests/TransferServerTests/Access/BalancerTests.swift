import Testing
import TransferAccess
import TransferHTTP
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Connections that a TCP balancer forwards.
    @Suite struct BalancerTests {
        /// Takes this machine for a balancer.
        private static func trustLoopback(_ configuration: inout ServerConfiguration) {
            configuration.balancers = [.network(.ipv4Loopback, bits: 8)]
        }

        private static func header(_ address: [UInt8] = [203, 0, 113, 9]) -> [UInt8] {
            ProxyHeaderTests.header(from: address)
        }

        /// The client's bytes may be in one packet with the header.
        @Test func aPushComesThrough() async throws {
            let directory = try TemporaryDirectory()
            let lines = try await logged(.text, .debug, Self.trustLoopback, in: directory) { server in
                let client = try server.client()
                client.send(Self.header() + Frames.hello + Frames.upload("x", [1, 2]))
                #expect(try client.result().code == .committed)
                #expect(server.server.core.status().connections.map(\.peer) == ["203.0.113.9:56324"])
                let other = try server.client()
                other.send(Array("PROXY TCP6 2001:db8::9 ::1 9 1\r\n".utf8) + Frames.hello + Frames.upload("y", [1]))
                #expect(try other.result().code == .committed)
                #expect(server.content("x") == [1, 2])
            }
            #expect(lines.contains { $0.contains("203.0.113.9:56324") && $0.contains("connect") }, "\(lines)")
            #expect(lines.contains { $0.contains("[2001:db8::9]:9") })
            #expect(!lines.contains { $0.contains("127.0.0.1:") && $0.contains("connect") }, "\(lines)")
        }

        @Test func theHeaderPrecedesTLS() async throws {
            let directory = try TemporaryDirectory()
            let token = try StoreKind.current.access(in: directory)
                .issue(.token, name: "camera", options: AccessOptions(), at: .now)
            try await serving(
                {
                    Self.trustLoopback(&$0)
                    ($0.security, $0.access, $0.http) = (.identity, .listed(owner: nil), .on)
                }, in: directory
            ) { server in
                let raw = try server.client()
                raw.sendBare(Self.header())
                try raw.secure(protocols: ["http/1.1"])
                let client = HTTPClient(raw)
                let bearer = ("Authorization", "Bearer \(token.text)")
                #expect(try client.ask(.put, "/x", [bearer], [1]).status == 201)
                let wrong = ("Authorization", "Bearer \(AccessSecret.random(.token).text)")
                let ask = { (address: [UInt8], credential: (String, String)) in
                    let raw = try server.client()
                    raw.sendBare(Self.header(address))
                    try raw.secure(protocols: ["http/1.1"])
                    return try HTTPClient(raw).ask(.get, "/x", [credential]).status
                }
                // A client that guesses tokens is slowed down, and other clients of the balancer are not.
                var status = 401
                for _ in 0..<12 where status == 401 { status = try ask([203, 0, 113, 7], wrong) }
                #expect(status == 503)
                #expect(try ask([203, 0, 113, 8], bearer) == 200)
            }
        }

        /// The header of a client cannot name this machine, whose user has all rights.
        @Test func nobodyIsLocal() async throws {
            let key = KeyPair()
            try await serving({
                Self.trustLoopback(&$0)
                ($0.security, $0.access) = (.identity, .listed(owner: key.key))
            }) { server in
                for header in [Self.header([127, 0, 0, 1]), ProxyHeaderTests.header([0x20, 0], [])] {
                    let client = try server.client()
                    client.sendBare(header)
                    try client.secure(key)
                    client.send(Frames.hello)
                    #expect(try client.result().code == .forbidden || client.next() == .closed)
                }
            }
        }

        @Test func networksAreCounted() async throws {
            try await serving({
                Self.trustLoopback(&$0)
                $0.maximumPerNetwork = 3
            }) { server in
                let come = { (address: [UInt8]) in
                    let client = try server.client()
                    client.send(Self.header(address) + Frames.hello)
                    return client
                }
                let crowd = try (0..<3).map { _ in try come([203, 0, 113, 9]) }
                for client in crowd {
                    client.send(Frames.upload("first", [1]))
                    #expect(try client.result().code.isSuccess)
                }
                let refused = try come([203, 0, 113, 9])
                #expect(try refused.result().message == "There are too many connections from this address.")
                let other = try come([203, 0, 113, 10])
                other.send(Frames.upload("other", [1]))
                #expect(try other.result().code == .committed)
                crowd[0].endSending()
                try server.waitUntil("the place is free") {
                    guard let next = try? come([203, 0, 113, 9]) else { return false }
                    next.send(Frames.upload("next", [1]))
                    return (try? next.result().code.isSuccess) ?? false
                }
            }
        }

        /// A check of the balancer has the balancer's address.
        @Test func theBalancerChecks() async throws {
            try await serving({
                Self.trustLoopback(&$0)
                $0.http = .on
            }) { server in
                for header in [ProxyHeaderTests.header([0x20, 0], []), Array("PROXY UNKNOWN\r\n".utf8)] {
                    let raw = try server.client()
                    raw.send(header)
                    #expect(try HTTPClient(raw).ask(.get, "/readyz").status == 200)
                    let peers = server.server.core.status().connections.map(\.peer)
                    #expect(peers.contains { $0.hasPrefix("127.0.0.1:") }, "\(peers)")
                }
            }
        }

        private static let otherBeginnings: [[UInt8]] = [
            Frames.hello, Array("GET / HTTP/1.1\r\n\r\n".utf8), Array(header().prefix(20)), [22, 3, 1],
        ]

        @Test(arguments: otherBeginnings)
        func withoutAHeaderNothingIsSaid(_ bytes: [UInt8]) async throws {
            let directory = try TemporaryDirectory()
            let lines = try await logged(
                .text, .info,
                {
                    Self.trustLoopback(&$0)
                    $0.http = .on
                }, in: directory
            ) { server in
                let client = try server.client()
                client.send(bytes)
                client.endSending()
                #expect(try client.some() == nil)
            }
            #expect(lines.contains { $0.contains("PROXY header is not valid") }, "\(lines)")
        }

        /// A balancer that only looks whether the port is open causes no warning.
        @Test func silentConnectionsEnd() async throws {
            let directory = try TemporaryDirectory()
            let lines = try await logged(
                .text, .info,
                {
                    Self.trustLoopback(&$0)
                    $0.timeouts.handshake = .milliseconds(50)
                }, in: directory
            ) { server in
                let client = try server.client()
                client.endSending()
                #expect(try client.some() == nil)
                let slow = try server.client()
                slow.send(Array(Self.header().dropLast()))
                #expect(try slow.some() == nil)
            }
            #expect(!lines.contains { $0.contains("PROXY header") }, "\(lines)")
        }

        /// The header of any other peer is a violation of the protocol, as it was before.
        @Test func othersMayNotUseIt() async throws {
            try await serving({
                $0.balancers = [.network(.ipv4(0x0A00_0000), bits: 8)]
                $0.http = .on
            }) { server in
                let frames = try server.client()
                frames.send(Self.header() + Frames.hello)
                #expect(try !frames.result().code.isSuccess && frames.next() == .closed)
                let line = try server.client()
                line.send(Array("PROXY TCP4 203.0.113.9 1.1.1.1 9 1\r\n".utf8) + Frames.hello)
                #expect(try String(decoding: line.some() ?? [], as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
                #expect(server.tree == [])
                try server.checkServes()
                let peers = server.server.core.status().connections.map(\.peer)
                #expect(peers.allSatisfy { $0.hasPrefix("127.0.0.1:") }, "\(peers)")
            }
        }

        /// Reverse proxies send no header to the listener for them.
        @Test func otherListenersExpectNone() async throws {
            try await serving({
                Self.trustLoopback(&$0)
                $0.plainHTTP = [PlainHTTPListener(TestServer.anyPort)]
                $0.metrics = .listener(TestServer.anyPort)
            }) { server in
                let plain = try #require(server.plainHTTPEndpoints.first)
                #expect(try HTTPClient(RawClient(plain)).ask(.get, "/readyz").status == 200)
                let probes = try #require(server.probeEndpoint)
                #expect(try HTTPClient(RawClient(probes)).ask(.get, "/readyz").status == 200)
            }
        }
    }

    @Suite struct IdentifiedConnectionTests {
        private static let (one, two) = (PeerNetwork(ipv4: 0xCB00_7109), PeerNetwork(ipv4: 0xCB00_710A))

        @Test func theStatedNetworkCounts() {
            var limits = ConnectionLimits(.init(connections: 8, perNetwork: 2, pending: 3))
            for number in 1...3 {
                #expect(limits.arrive(number, from: nil) == .admitted(evicting: nil))
                limits.begin(number)
                #expect(limits.identify(number, as: Self.one) == (number == 3 ? .perNetwork : nil))
            }
            // A second statement changes nothing, and neither does one about a connection that is gone.
            #expect(limits.identify(1, as: Self.two) == nil && limits.identify(9, as: Self.two) == nil)
            limits.leave(3)
            limits.leave(1)
            #expect(limits.arrive(4, from: nil) == .admitted(evicting: nil))
            #expect(limits.identify(4, as: Self.one) == nil)
            limits.leave(2)
            limits.leave(4)
            #expect(limits.count == 0)
        }

        /// The connection that has been pending for the longest time gives way, whenever its client was stated.
        @Test func theLongestPendingOneOfTheCrowdGivesWay() {
            var limits = ConnectionLimits(.init(connections: 80, perNetwork: 9, pending: 3))
            for number in 1...3 {
                _ = limits.arrive(number, from: nil)
                limits.begin(number)
            }
            #expect(limits.identify(2, as: Self.one) == nil && limits.identify(1, as: Self.one) == nil)
            let verdict = limits.arrive(4, from: nil)
            #expect(verdict == .admitted(evicting: .init(number: 1, shortage: .pending)))
        }
    }
}
