import TransferModel

/// 16 random bytes by which whoever asks knows the answers to the question.
package struct DiscoveryNonce: Hashable, Sendable {
    /// Bytes of it.
    static let size = 16

    private let high: UInt64
    private let low: UInt64

    package init(high: UInt64, low: UInt64) {
        (self.high, self.low) = (high, low)
    }

    /// A new one, of the system's secure generator unless a test has its own.
    package static func random(using generator: inout some RandomNumberGenerator) -> DiscoveryNonce {
        DiscoveryNonce(high: generator.next(), low: generator.next())
    }

    /// From the 16 bytes at `offset`. The caller has checked that they are inside.
    init(_ bytes: RawSpan, at offset: Int) {
        high = bytes.bigEndian(at: offset, as: UInt64.self)
        low = bytes.bigEndian(at: offset + 8, as: UInt64.self)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}
