import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct WaitingSocketTests {
    /// A listening socket on loopback, and its address.
    private static func listen(_ host: String) throws -> (descriptor: Int32, address: SocketAddress) {
        let wanted = try #require(try Endpoint.internet(host: host, port: 0).resolve().first)
        let number = try makeSocket(family: wanted.family).release()
        try system("bind") { wanted.withPointer { bind(number, $0, $1) } }
        try system("listen") { Glibc.listen(number, 8) }
        return (number, try SocketAddress.filled(by: "getsockname") { getsockname(number, $0, &$1) })
    }

    private static let loopbacks = Wire.hasInternet6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"]

    @Test(arguments: loopbacks) func sendsReceivesAndNoticesTheEnd(host: String) throws {
        let (listening, address) = try Self.listen(host)
        defer { close(listening) }
        let socket = try WaitingSocket(connectingTo: address, until: .max)
        let peer = accept(listening, nil, nil)
        #expect(peer >= 0)
        #expect(socket.isQuiet)
        #expect(try !socket.wait(until: monotonicDeadline(after: 1_000_000)))
        #expect(try socket.wait(forSending: true, until: .max))

        let sent = try [1, 2, 3].withUnsafeBytes { try socket.send(UnsafeRawBufferPointer(rebasing: $0[..<3])) }
        #expect(sent == 3)
        #expect(try socket.flush())
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(recv(peer, &bytes, 8, 0) == 3)

        #expect(send(peer, "ab", 2, 0) == 2)
        #expect(try socket.wait(until: .max))
        #expect(try bytes.withUnsafeMutableBytes { try socket.receive(into: $0) } == .bytes(2))
        #expect(try bytes.withUnsafeMutableBytes { try socket.receive(into: $0) } == .wouldBlock)
        close(peer)
        #expect(try socket.wait(until: .max))
        #expect(!socket.isQuiet)
        #expect(try bytes.withUnsafeMutableBytes { try socket.receive(into: $0) } == .end)
    }

    @Test func reportsAPortThatIsClosed() throws {
        let (listening, address) = try Self.listen("127.0.0.1")
        close(listening)
        #expect(throws: StreamError.system(SystemError(errno: ECONNREFUSED, call: "connect"))) {
            _ = try WaitingSocket(connectingTo: address, until: .max)
        }
    }

    /// A queue that is full lets further attempts wait.
    @Test func givesUpConnecting() throws {
        let (listening, address) = try Self.listen("127.0.0.1")
        defer { close(listening) }
        var connected: [WaitingSocket] = []
        #expect(throws: StreamError.system(SystemError(errno: ETIMEDOUT, call: "connect"))) {
            while connected.count < 1000 {
                connected.append(try WaitingSocket(connectingTo: address, until: monotonicDeadline(after: 100_000_000)))
            }
        }
    }
}
