import TransferModel

/// What a server says to whoever looks for it. Anybody on the network can say it: it is a hint where to look, and TLS finds
/// out who is there.
package struct DiscoveryAnswer: Hashable, Sendable {
    /// Ports that are told at most: nobody listens on more of one address.
    package static let mostPorts = 8

    /// Bytes of a digest of a key (SHA-256).
    private static let digestSize = 32

    /// The only flag.
    private static let encryptedFlag: UInt8 = 1

    /// Bytes behind the header in front of the ports: instance, flags, digest, number of ports, length of the name.
    private static let fixedSize = 8 + 1 + digestSize + 1 + 1

    /// Bytes of the longest one; a probe has more.
    package static let longest = DiscoveryDatagram.headerSize + fixedSize + 2 * mostPorts + DiscoveryName.longest

    /// That of the probe.
    package let nonce: DiscoveryNonce

    /// Random, of the process that answers: so it is the same server that is found by several addresses.
    package let instance: UInt64

    /// The SHA-256 digest of the key that the server shows with TLS, 32 bytes; nothing without TLS.
    package let keyDigest: [UInt8]?

    /// Where connections are taken, at the address that the answer comes from: 1 to 8 of them, none of them 0.
    package let ports: [UInt16]

    package let name: DiscoveryName

    /// - Parameters:
    ///   - keyDigest: 32 bytes.
    ///   - ports: of more than 8 only the first are told.
    /// - Returns: nothing for anything else, or without a port.
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

    /// - Parameter body: what stands behind the header.
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

    /// The datagram.
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
