import TransferModel

/// The check over the body of a message: CRC-32C (Castagnoli; RFC 3720, appendix B.4). Content has its digest, but a
/// damaged bit in a path or in an acknowledgement would only give another path, and TCP's own check misses some.
enum FrameCheck {
    /// Bytes of the check on the wire.
    static let size = 4

    /// The reversed polynomial 0x1EDC6F41.
    private static let polynomial: UInt32 = 0x82F6_3B78

    /// Bytes taken at once. A message with a receipt has 500: one byte at a time, each waiting for the one before it, they
    /// would take longer than the hashes of the receipt.
    private static let stride = 8

    /// What a byte adds when 0 to 7 bytes come behind it, for all bytes: one table after the other.
    private static let tables: [UInt32] = {
        var tables = (0..<256).map { byte in
            (0..<8).reduce(UInt32(byte)) { word, _ in word >> 1 ^ (word & 1 == 0 ? 0 : polynomial) }
        }
        for index in 0..<(stride - 1) * 256 { tables.append(tables[index] >> 8 ^ tables[Int(tables[index] & 0xFF)]) }
        return tables
    }()

    static func value(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        tables.withUnsafeBufferPointer { tables in
            var word = UInt32.max
            var offset = 0
            while bytes.count - offset >= stride {
                let low = word ^ UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
                word = sum(tables, 4, low) ^ sum(tables, 0, high)
                offset += stride
            }
            for byte in bytes[offset...] { word = word >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: word) ^ byte)] }
            return ~word
        }
    }

    /// What four bytes add, when `behind` bytes come behind them.
    private static func sum(_ tables: UnsafeBufferPointer<UInt32>, _ behind: Int, _ bytes: UInt32) -> UInt32 {
        tables[256 * (behind + 3) + Int(bytes & 0xFF)] ^ tables[256 * (behind + 2) + Int(bytes >> 8 & 0xFF)]
            ^ tables[256 * (behind + 1) + Int(bytes >> 16 & 0xFF)] ^ tables[256 * behind + Int(bytes >> 24)]
    }
}

extension FunctionCode {
    /// Whether such messages have to end with a check: those that name places or uploads, and promise what stands there.
    package var isChecked: Bool {
        switch self {
        case .begin, .resume, .result, .lookup, .unknown, .receipts, .list, .entries, .fetch, .file, .remove, .outcome,
            .cancel, .compare, .make, .move, .people, .persons, .mail, .deliveries, .settle, .arrived, .introduce:
            true
        case .hello, .welcome, .ping, .pong, .goodbye, .accept, .data, .block, .end, .abort, .received, .have: false
        }
    }
}

extension [UInt8] {
    /// Ends a message with a check of its body, which starts at `start`.
    package mutating func appendCheck(from start: Int) {
        let value = withUnsafeBytes { FrameCheck.value(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        append(FieldTag.check.rawValue)
        append(bigEndian: UInt16(FrameCheck.size))
        append(bigEndian: value)
    }
}

extension ProtocolFault {
    static let damaged = ProtocolFault(.damagedFrame, "A frame was damaged on its way.")

    /// Bytes that were lost can make what follows look like fields of the message, and none of them the check.
    static let unchecked = ProtocolFault(.damagedFrame, "A message has no check, or it was lost on its way.")
}
