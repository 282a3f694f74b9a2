import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

@Suite struct DatagramSocketTests {
    private static let loopback = [IPAddress.ipv4Loopback, .ipv6Loopback]

    private static func socket(_ address: IPAddress, broadcasts: Bool = false) throws -> DatagramSocket {
        try DatagramSocket(SocketAddress(address, port: 0), broadcasts: broadcasts)
    }

    private static func next(_ socket: DatagramSocket) throws -> (DatagramArrival, [UInt8]) {
        DatagramSocket.wait(for: [socket], milliseconds: 20_000)
        var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)
        let arrival = try #require(try socket.receive(into: &buffer))
        return (arrival, Array(buffer[..<arrival.count]))
    }

    @Test(arguments: loopback) func whatComesIsDescribed(_ address: IPAddress) throws {
        let (server, client) = (try Self.socket(address), try Self.socket(address))
        try client.send([1, 2, 3], to: server.address, hops: 33, trafficClass: 12)
        let (arrival, bytes) = try Self.next(server)
        #expect(bytes == [1, 2, 3] && arrival.source.description == client.address.description)
        #expect(arrival.destination == address && !arrival.isForMany && arrival.interface != 0)
        #expect(arrival.hops == 33 && arrival.trafficClass == 12)
        try server.send([], to: arrival.source, from: address, interface: arrival.interface)
        let (answer, nothing) = try Self.next(client)
        #expect(nothing == [] && answer.source.port == server.address.port && answer.hops == 64)
        #expect(answer.trafficClass == 0)
    }

    @Test(arguments: loopback) func theLongestDatagram(_ address: IPAddress) throws {
        let (server, client) = (try Self.socket(address), try Self.socket(address))
        let content = [UInt8](repeating: 5, count: 65_507)
        try client.send(content[...], to: server.address)
        #expect(try Self.next(server).1 == content)
    }

    @Test func nothingHasCome() throws {
        var buffer: [UInt8] = [0]
        #expect(try Self.socket(.ipv4Loopback).receive(into: &buffer) == nil)
    }

    /// The network of the loopback interface has a broadcast address as well.
    @Test func aBroadcastIsKnownAsOne() throws {
        let (server, client) = (try Self.socket(.ipv4(0)), try Self.socket(.ipv4Loopback, broadcasts: true))
        let everybody = IPAddress.ipv4(0x7FFF_FFFF)
        try client.send([1], to: SocketAddress(everybody, port: server.address.port ?? 0))
        let (arrival, _) = try Self.next(server)
        #expect(arrival.isForMany && arrival.destination == everybody && arrival.local == .ipv4Loopback)
    }

    @Test func nobodyElseHasTheAddress() async throws {
        try await whereThePortIsFree {
            let first = try Self.socket(.ipv4Loopback)
            let error = #expect(throws: SystemError.self) { try DatagramSocket(first.address) }
            #expect(error?.isAddressInUse == true)
            first.close()
            first.close()
            _ = try DatagramSocket(first.address)
        }
    }

    @Test func addressesAreReadAndWritten() throws {
        let addresses: [(IPAddress, String)] = [
            (.ipv4(0xC000_0207), "192.0.2.7:9"), (.ipv6(high: 0x2001_0DB8 << 32, low: 7), "[2001:db8::7]:9"),
            (.ipv6(high: 0, low: 0), "[::]:9"),
        ]
        for (address, text) in addresses {
            let place = SocketAddress(address, port: 9)
            #expect(place.description == text && IPAddress(place) == address && place.port == 9)
            #expect(place.with(port: 10).port == 10 && IPAddress(place.with(port: 10)) == address)
        }
        #expect(IPAddress(SocketAddress(unixPath: "/x")) == nil)
    }

    @Test func kindsOfAddresses() {
        #expect(IPAddress.ipv4Loopback.isLoopback && IPAddress.ipv6Loopback.isLoopback)
        #expect(IPAddress.ipv4(0x7F12_3456).isLoopback && !IPAddress.ipv4(0x8000_0001).isLoopback)
        #expect(IPAddress.allNodes.isMulticast && IPAddress.ipv4(0xE000_0001).isMulticast)
        #expect(!IPAddress.limitedBroadcast.isMulticast && !IPAddress.ipv6Loopback.isMulticast)
        #expect(IPAddress.ipv6(high: 0xFE80 << 48, low: 1).isLinkLocal && IPAddress.ipv4(0xA9FE_0101).isLinkLocal)
        #expect(IPAddress.ipv6(high: 0xFEBF << 48, low: 1).isLinkLocal)
        #expect(!IPAddress.ipv6(high: 0xFEC0 << 48, low: 1).isLinkLocal && !IPAddress.ipv4(0xA9FF_0101).isLinkLocal)
        #expect(IPAddress.ipv4(0).isUnspecified && !IPAddress.ipv4(1).isUnspecified)
    }
}
