import Testing
import TransferSystem

@testable import TransferIO

@Suite struct DatagramServiceTests {
    private static func socket() throws -> DatagramSocket {
        try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))
    }

    @Test func everySocketIsHeard() throws {
        let service = try DatagramService([Self.socket(), Self.socket()])
        try service.run(name: "test") { socket, arrival, bytes in
            try? socket.send(bytes + [9], to: arrival.source)
        }
        let client = try Self.socket()
        var buffer: [UInt8] = [0, 0, 0]
        for socket in service.sockets {
            try client.send([1], to: socket.address)
            DatagramSocket.wait(for: [client], milliseconds: 20_000)
            let arrival = try #require(try client.receive(into: &buffer))
            #expect(buffer[..<arrival.count] == [1, 9] && arrival.source.port == socket.address.port)
        }
        service.close()
    }

    @Test func whenItIsClosedItsAddressesAreFree() throws {
        let service = try DatagramService([Self.socket()])
        try service.run(name: "test") { _, _, _ in }
        service.close()
        service.close()
        _ = try DatagramSocket(service.sockets[0].address)
    }

    @Test func oneThatNeverRanEndsToo() throws {
        let service = try DatagramService([Self.socket()])
        service.close()
    }
}
