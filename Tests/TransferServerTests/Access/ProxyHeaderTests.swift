import Testing
import TransferIO

@testable import TransferServer

/// Headers of balancers.
@Suite struct ProxyHeaderTests {
    static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10] + Array("QUIT\n".utf8)

    /// A header of version 2.
    ///
    /// - Parameters:
    ///   - kind: version with command, and family with transport.
    ///   - content: addresses, ports, and what follows them.
    static func header(_ kind: [UInt8], _ content: [UInt8]) -> [UInt8] {
        signature + kind + [UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
    }

    /// A header of version 2 for a client with an IPv4 address, from port 56324.
    static func header(from address: [UInt8], more: [UInt8] = []) -> [UInt8] {
        header([0x21, 0x11], address + [198, 51, 100, 1, 0xDC, 4, 1, 0xBB] + more)
    }

    /// - Returns: the last step, and how many bytes were taken.
    private static func read(_ bytes: [UInt8], atOnce: Int = .max) -> (ProxyHeaderReader.Step, taken: Int) {
        var reader = ProxyHeaderReader()
        var rest = bytes[...]
        while case .needs(let most) = reader.step, !rest.isEmpty {
            let piece = rest.prefix(min(most, atOnce))
            reader.received(piece)
            rest = rest.dropFirst(piece.count)
        }
        return (reader.step, bytes.count - rest.count)
    }

    /// What follows a header is the client's, and is not taken.
    private static func expect(_ bytes: [UInt8], _ header: ProxyHeader) {
        for atOnce in [1, 2, 7, Int.max] {
            let (step, taken) = read(bytes + [22, 3, 1], atOnce: atOnce)
            #expect(step == .header(header) && taken == bytes.count)
        }
        for count in 0..<bytes.count {
            guard case .needs(1...) = read(Array(bytes.prefix(count))).0 else {
                Issue.record("\(count) bytes count as whole")
                return
            }
        }
    }

    @Test(arguments: [
        ("TCP4 203.0.113.9 198.51.100.1 56324 443", "203.0.113.9", 56324),
        ("TCP4 1.1.1.1 1.1.1.1 0 65535", "1.1.1.1", 0),
        ("TCP6 2001:db8::9 2001:db8::1 1 443", "2001:db8::9", 1),
        ("TCP6 ::ffff:203.0.113.9 ::1 9 443", "203.0.113.9", 9),
        ("UNKNOWN", nil, 0), ("UNKNOWN ffff:f...f", nil, 0), ("UNKNOWN " + String(repeating: "f", count: 91), nil, 0),
    ])
    func lines(_ text: String, _ client: String?, _ port: UInt16) throws {
        let header = try client.map { ProxyHeader.client(try #require(IPAddress($0)), port: port) } ?? .balancer
        Self.expect(Array("PROXY \(text)\r\n".utf8), header)
    }

    @Test func binaryHeaders() throws {
        let client = ProxyHeader.client(try #require(IPAddress("203.0.113.9")), port: 56324)
        Self.expect(Self.header(from: [203, 0, 113, 9]), client)
        // A certificate of the client behind the addresses, longer than one step.
        Self.expect(Self.header(from: [203, 0, 113, 9], more: [UInt8](repeating: 9, count: 1300)), client)
        let six = [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9] + [UInt8](repeating: 1, count: 16)
        let ipv6 = ProxyHeader.client(try #require(IPAddress("2001:db8::9")), port: 56324)
        Self.expect(Self.header([0x21, 0x21], six + [0xDC, 4, 1, 0xBB]), ipv6)
        let mapped = [UInt8](repeating: 0, count: 10) + [255, 255, 203, 0, 113, 9] + six.suffix(16)
        Self.expect(Self.header([0x21, 0x21], mapped + [0xDC, 4, 1, 0xBB]), client)
        Self.expect(Self.header([0x21, 0x31], [UInt8](repeating: 47, count: 216)), .balancer)
        Self.expect(Self.header([0x21, 0], []), .balancer)
        // A balancer that checks the server states nothing, whatever stands there.
        Self.expect(Self.header([0x20, 0], []), .balancer)
        Self.expect(Self.header([0x20, 0x11], [203, 0, 113, 9, 1, 1, 1, 1, 0, 1, 0, 1]), .balancer)
        Self.expect(Self.header([0x20, 0xFF], [4, 0, 1, 9]), .balancer)
    }

    @Test(arguments: [
        "PROXY TCP4 203.0.113.9 198.51.100.1 56324\r\n", "PROXY TCP4 203.0.113.9 198.51.100.1 56324 443 1\r\n",
        "PROXY TCP4 203.0.113.9 198.51.100.1 65536 443\r\n", "PROXY TCP4 203.0.113.9 198.51.100.1 01 443\r\n",
        "PROXY TCP4 203.0.113.9 198.51.100.1 +1 443\r\n", "PROXY TCP4 203.0.113.9 198.51.100.1 1 \r\n",
        "PROXY TCP4 203.0.113.09 198.51.100.1 1 443\r\n", "PROXY TCP4 2001:db8::9 2001:db8::1 1 443\r\n",
        "PROXY TCP6 203.0.113.9 198.51.100.1 1 443\r\n", "PROXY TCP4  203.0.113.9 198.51.100.1 1 443\r\n",
        "PROXY TCP4 203.0.113.9 nas.example 1 443\r\n", "PROXY UDP4 203.0.113.9 198.51.100.1 1 443\r\n",
        "PROXY UNKNOWN\n", "PROXY UNKNOWN \n\r\n", "PROXY \r\n", "proxy UNKNOWN\r\n", "GET / HTTP/1.1\r\n",
        "\r\n\r\nGET",
        "PROXY UNKNOWN " + String(repeating: "f", count: 92) + "\r\n", "PROXY UNKNOWNS\r\n", "PROXY TCP4\r\n",
    ])
    func otherText(_ text: String) {
        for atOnce in [1, Int.max] {
            let (step, taken) = Self.read(Array(text.utf8) + [0, 0], atOnce: atOnce)
            guard case .invalid = step else {
                Issue.record("\(text): \(step)")
                continue
            }
            #expect(taken <= 107)
        }
    }

    @Test func otherBytes() {
        let four: [UInt8] = [203, 0, 113, 9, 198, 51, 100, 1, 0xDC, 4, 1, 0xBB]
        let headers = [
            Self.header([0x11, 0x11], four), Self.header([0x22, 0x11], four), Self.header([0x2F, 0x11], four),
            Self.header([0x21, 0x12], four), Self.header([0x21, 0x41], four),
            Self.header([0x21, 0x11], four.dropLast()),
            Self.header([0x21, 0x21], four), Self.header([0x21, 0x31], four), Self.header([0x21, 0x01], four),
        ]
        for bytes in headers {
            let (step, taken) = Self.read(bytes)
            guard case .invalid = step else {
                Issue.record("\(bytes): \(step)")
                continue
            }
            #expect(taken == 16)
        }
        var reader = ProxyHeaderReader()
        reader.received([22, 3, 1])
        #expect(reader.step == .invalid("the connection does not begin with it"))
    }
}
