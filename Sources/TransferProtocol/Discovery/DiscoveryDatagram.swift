import TransferModel

/// A datagram on the discovery port, decoded. No I/O.
///
/// Datagrams of discovery begin with eight bytes with which no text begins, a version and a kind. Numbers are in
/// network byte order. docs/reference/discovery.md has the tables. Any other datagram belongs to another protocol.
package enum DiscoveryDatagram: Equatable, Sendable {
    case probe(DiscoveryNonce)
    case answer(DiscoveryAnswer)
    /// A datagram that does not belong to discovery.
    case other

    /// The first bytes of every datagram: a byte that does not occur in UTF-8, then `XFRFIND`.
    package static let magic: [UInt8] = [0xF5] + Array("XFRFIND".utf8)

    /// Version of the format, the only one so far.
    package static let version: UInt8 = 1

    /// The kind, which is the byte after the version.
    enum Kind: UInt8 {
        case probe = 1
        case answer = 2
    }

    /// Bytes of the header: magic, version, kind and nonce.
    static let headerSize = magic.count + 2 + DiscoveryNonce.size

    /// Bytes of a probe. They are more than those of the longest answer, so that a forger who sends a probe in a
    /// victim's name cannot make a server send the victim more bytes than the forger has sent.
    package static let probeSize = 192

    /// Decodes a datagram. Allocates no memory before the size is checked.
    ///
    /// - Throws: `DiscoveryFault` for a datagram that has the magic but is malformed. Callers must not pass such a
    ///   datagram to another protocol.
    package static func decode(_ bytes: ArraySlice<UInt8>) throws(DiscoveryFault) -> DiscoveryDatagram {
        guard bytes.starts(with: magic) else { return .other }
        guard bytes.count >= headerSize else { throw .wrongSize(bytes.count) }
        let start = bytes.startIndex
        let version = bytes[start + magic.count]
        guard version == Self.version else { throw .unknownVersion(version) }
        let number = bytes[start + magic.count + 1]
        let nonce = DiscoveryNonce(bytes.span.bytes, at: magic.count + 2)
        let body = bytes[(start + headerSize)...]
        switch Kind(rawValue: number) {
        case .probe:
            guard bytes.count == probeSize else { throw .wrongSize(bytes.count) }
            guard body.allSatisfy({ $0 == 0 }) else { throw .strayBytes }
            return .probe(nonce)
        case .answer: return .answer(try DiscoveryAnswer(nonce, body: body))
        case nil: throw .unknownKind(number)
        }
    }

    /// Encodes a probe, padded to `probeSize`.
    package static func probe(with nonce: DiscoveryNonce) -> [UInt8] {
        let header = header(.probe, nonce)
        return header + [UInt8](repeating: 0, count: probeSize - header.count)
    }

    static func header(_ kind: Kind, _ nonce: DiscoveryNonce) -> [UInt8] {
        var bytes = magic + [version, kind.rawValue]
        nonce.encode(into: &bytes)
        return bytes
    }
}
