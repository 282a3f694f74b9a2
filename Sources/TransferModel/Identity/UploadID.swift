/// ID of an upload, 16 bytes chosen by the client: the idempotency key. The server never stores the same ID twice.
public struct UploadID: Hashable, Sendable {
    /// Size of an ID in bytes.
    package static let size = 16

    /// First and last eight bytes, as numbers in network byte order.
    package let high: UInt64
    package let low: UInt64

    /// Stands for no upload, in results that end a connection.
    package static let none = UploadID(high: 0, low: 0)

    @usableFromInline package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a random ID with the system's secure generator.
    public static func random() -> UploadID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Makes a random ID, never `none`.
    @inlinable package static func random(using generator: inout some RandomNumberGenerator) -> UploadID {
        UploadID(high: .random(in: 1 ... .max, using: &generator), low: generator.next())
    }

    /// Derives an ID from a digest, never `none`.
    ///
    /// - Parameter digest: at least 16 bytes.
    package init(derivedFrom digest: [UInt8]) {
        let (high, low) = digest.withUnsafeBytes {
            ($0.bytes.bigEndian(at: 0, as: UInt64.self), $0.bytes.bigEndian(at: 8, as: UInt64.self))
        }
        self.init(high: high == 0 ? 1 : high, low: low)
    }

    /// Reads the 16 bytes at `offset`. The caller has checked that they are inside.
    package init(_ bytes: RawSpan, at offset: Int) {
        high = bytes.bigEndian(at: offset, as: UInt64.self)
        low = bytes.bigEndian(at: offset + 8, as: UInt64.self)
    }

    package func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}

extension UploadID: CustomStringConvertible {
    /// The ID as 32 hexadecimal digits.
    public var description: String {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return String(hexadecimal: bytes)
    }
}

extension UploadID {
    /// Reads the text of `description`; nil for any other text.
    package init?(hexadecimal text: some StringProtocol) {
        guard text.utf8.count == 32, let high = Hexadecimal.number(text.utf8.prefix(16)),
            let low = Hexadecimal.number(text.utf8.suffix(16))
        else { return nil }
        self.init(high: high, low: low)
    }
}
