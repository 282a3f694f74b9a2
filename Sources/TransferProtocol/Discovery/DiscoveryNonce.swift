import TransferModel

/// 16 random bytes by which a client matches answers with its probe.
package struct DiscoveryNonce: Hashable, Sendable {
    /// Size of a nonce in bytes.
    static let size = 16

    private let high: UInt64
    private let low: UInt64

    package init(high: UInt64, low: UInt64) {
        (self.high, self.low) = (high, low)
    }

    /// Makes a nonce, from the system's secure generator except in tests.
    package static func random(using generator: inout some RandomNumberGenerator) -> DiscoveryNonce {
        DiscoveryNonce(high: generator.next(), low: generator.next())
    }

    /// Reads the 16 bytes at `offset`. The caller has checked that they are inside.
    init(_ bytes: RawSpan, at offset: Int) {
        high = bytes.bigEndian(at: offset, as: UInt64.self)
        low = bytes.bigEndian(at: offset + 8, as: UInt64.self)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}
