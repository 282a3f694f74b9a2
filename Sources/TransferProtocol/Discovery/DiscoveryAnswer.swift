import TransferModel

/// A server's answer to a probe. Any host on the network can send one, so it is only a hint; TLS verifies the server.
package struct DiscoveryAnswer: Hashable, Sendable {
    /// Most ports in one answer; more listeners on one address are not expected.
    package static let mostPorts = 8

    /// Bytes of a key's digest (SHA-256).
    private static let digestSize = 32

    /// Flag of a server that uses TLS; the digest is then present.
    private static let encryptedFlag: UInt8 = 1

    /// Bytes between the header and the ports: instance, flags, digest, number of ports, and length of the name.
    private static let fixedSize = 8 + 1 + digestSize + 1 + 1

    /// Bytes of the longest answer, which are fewer than those of a probe.
    package static let longest = DiscoveryDatagram.headerSize + fixedSize + 2 * mostPorts + DiscoveryName.longest

    /// The nonce of the probe that this answers.
    package let nonce: DiscoveryNonce

    /// A random number of the server process, by which clients recognise a server that they find at several addresses.
    package let instance: UInt64

    /// The SHA-256 digest of the server's TLS key, 32 bytes; nil without TLS.
    package let keyDigest: [UInt8]?

    /// Ports of the server at the address from which the answer came: 1 to 8 ports, and never port 0.
    package let ports: [UInt16]

    package let name: DiscoveryName

    /// - Parameters:
    ///   - keyDigest: 32 bytes, or nil.
    ///   - ports: only the first 8 are used.
    /// - Returns: nil without a port, with port 0, or with a digest of another size.
    package init?(
        _ nonce: DiscoveryNonce, instance: UInt64, keyDigest: [UInt8]?, ports: [UInt16], name: DiscoveryName
    ) {
        guard !ports.isEmpty, !ports.contains(0), keyDigest.map({ $0.count == Self.digestSize }) ?? true else {
            return nil
        }
        (self.nonce, self.instance, self.keyDigest) = (nonce, instance, keyDigest)
        self.ports = Array(ports.prefix(Self.mostPorts))
        self.name = name
    }

    /// - Parameter body: the bytes behind the header.
    init(_ nonce: DiscoveryNonce, body: ArraySlice<UInt8>) throws(DiscoveryFault) {
        guard body.count >= Self.fixedSize else { throw .wrongSize(body.count + DiscoveryDatagram.headerSize) }
        let bytes = Array(body.prefix(Self.longest))
        self.nonce = nonce
        instance = bytes.span.bytes.bigEndian(at: 0, as: UInt64.self)
        keyDigest = try Self.keyDigest(flags: bytes[8], bytes[9..<9 + Self.digestSize])
        let (portCount, nameLength) = (Int(bytes[41]), Int(bytes[42]))
        guard (1...Self.mostPorts).contains(portCount) else { throw .badPorts }
        guard (1...DiscoveryName.longest).contains(nameLength) else { throw .badName }
        guard body.count == Self.fixedSize + 2 * portCount + nameLength else {
            throw .wrongSize(body.count + DiscoveryDatagram.headerSize)
        }
        ports = (0..<portCount).map { bytes.span.bytes.bigEndian(at: Self.fixedSize + 2 * $0, as: UInt16.self) }
        guard !ports.contains(0) else { throw .badPorts }
        guard let name = DiscoveryName(bytes[(Self.fixedSize + 2 * portCount)...]) else { throw .badName }
        self.name = name
    }

    private static func keyDigest(flags: UInt8, _ digest: ArraySlice<UInt8>) throws(DiscoveryFault) -> [UInt8]? {
        switch flags {
        case encryptedFlag: return Array(digest)
        case 0:
            guard digest.allSatisfy({ $0 == 0 }) else { throw .strayBytes }
            return nil
        default: throw .unknownFlags(flags)
        }
    }

    /// The whole datagram, including the header.
    package var bytes: [UInt8] {
        var bytes = DiscoveryDatagram.header(.answer, nonce)
        bytes.append(bigEndian: instance)
        bytes.append(keyDigest == nil ? 0 : Self.encryptedFlag)
        bytes += keyDigest ?? [UInt8](repeating: 0, count: Self.digestSize)
        bytes += [UInt8(truncatingIfNeeded: ports.count), UInt8(truncatingIfNeeded: name.text.utf8.count)]
        for port in ports { bytes.append(bigEndian: port) }
        return bytes + Array(name.text.utf8)
    }
}
