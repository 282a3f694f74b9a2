import TransferModel

/// A datagram as discovery sees it. No I/O.
///
/// Those of discovery begin with eight bytes that no text does, a version and a kind; numbers are in network byte order.
/// docs/reference/discovery.md has the tables. What begins otherwise is somebody else's.
package enum DiscoveryDatagram: Equatable, Sendable {
    case probe(DiscoveryNonce)
    case answer(DiscoveryAnswer)
    /// Nothing of discovery.
    case other

    /// What all of discovery begins with: a byte that UTF-8 never has, then `XFRFIND`.
    package static let magic: [UInt8] = [0xF5] + Array("XFRFIND".utf8)

    /// The only version that there is.
    package static let version: UInt8 = 1

    /// The first byte behind the version.
    enum Kind: UInt8 {
        case probe = 1
        case answer = 2
    }

    /// Bytes of magic, version, kind and nonce.
    static let headerSize = magic.count + 2 + DiscoveryNonce.size

    /// Bytes of a probe: more than the longest answer has, so that nobody can make a server send more than he has sent
    /// himself.
    package static let probeSize = 192

    /// Reads one. Nothing is allocated before its size is known to be right.
    ///
    /// - Throws: for what begins as one of discovery and is none: that must not be taken for somebody else's.
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

    /// The bytes of a probe.
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
