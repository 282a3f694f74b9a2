package import TransferIO

/// Who is believed when he says whom he asks for.
package enum TrustedProxy: Hashable, Sendable {
    /// Whoever connects to a Unix socket.
    case unix
    /// An address, or all that begin with so many bits of it.
    case network(IPAddress, bits: Int)

    /// - Parameter text: `ADDRESS`, `ADDRESS/BITS` or `unix`.
    package init?(_ text: String) {
        if text.utf8.elementsEqual("unix".utf8) {
            self = .unix
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = IPAddress(String(Substring(first))) else {
            return nil
        }
        guard parts.count == 2 else {
            self = .network(address, bits: address.size)
            return
        }
        let digits = parts[1]
        // A prefix of an IPv4 address that is written as an IPv6 one would count from another place.
        guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let bits = Int(Substring(digits)), bits <= address.size, address.size == 128 || !first.contains(0x3A)
        else { return nil }
        self = .network(address, bits: bits)
    }

    func contains(_ address: IPAddress) -> Bool {
        guard case .network(let network, let bits) = self else { return false }
        return network.hasPrefix(ofBits: bits, in: address.unmapped)
    }

    /// - Parameter peer: who is connected.
    func contains(_ peer: SocketAddress) -> Bool {
        guard let address = IPAddress(peer) else { return self == .unix }
        return contains(address)
    }
}

extension IPAddress {
    /// Bits.
    fileprivate var size: Int { if case .ipv4 = self { 32 } else { 128 } }

    /// Whether another address begins with the same bits.
    ///
    /// - Parameter bits: no more than there are.
    fileprivate func hasPrefix(ofBits bits: Int, in other: IPAddress) -> Bool {
        switch (self, other) {
        case (.ipv4(let a), .ipv4(let b)): (a ^ b) >> UInt32(32 - bits) == 0
        case (.ipv6(let a, let c), .ipv6(let b, let d)):
            (a ^ b) >> UInt64(max(0, 64 - bits)) == 0 && (bits <= 64 || (c ^ d) >> UInt64(128 - bits) == 0)
        default: false
        }
    }
}
