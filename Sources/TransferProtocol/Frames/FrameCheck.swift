import TransferModel

/// The check of a message body: CRC-32C (Castagnoli; RFC 3720, appendix B.4). Content has a digest, but without this
/// check a damaged bit could change a path or an acknowledgement unnoticed, because TCP's checksum misses some errors.
enum FrameCheck {
    /// Bytes of a check on the wire.
    static let size = 4

    /// The polynomial 0x1EDC6F41 with its bits reversed.
    private static let polynomial: UInt32 = 0x82F6_3B78

    /// Bytes that are processed at once. A message with a receipt has 500 bytes. If they were processed one by one,
    /// each step waiting for the one before it, this would take longer than the receipt's hashes.
    private static let stride = 8

    /// For each number of following bytes from 0 to 7, a table of what each value of a byte contributes to the check.
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

    /// The contribution of four bytes that are followed by `behind` bytes.
    private static func sum(_ tables: UnsafeBufferPointer<UInt32>, _ behind: Int, _ bytes: UInt32) -> UInt32 {
        tables[256 * (behind + 3) + Int(bytes & 0xFF)] ^ tables[256 * (behind + 2) + Int(bytes >> 8 & 0xFF)]
            ^ tables[256 * (behind + 1) + Int(bytes >> 16 & 0xFF)] ^ tables[256 * behind + Int(bytes >> 24)]
    }
}

extension FunctionCode {
    /// Whether these messages must end with a check. These are the messages that contain paths or IDs, or promises
    /// about them.
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
    /// Appends the check of the message body that begins at `start`.
    package mutating func appendCheck(from start: Int) {
        let value = withUnsafeBytes { FrameCheck.value(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        append(FieldTag.check.rawValue)
        append(bigEndian: UInt16(FrameCheck.size))
        append(bigEndian: value)
    }
}

extension ProtocolFault {
    static let damaged = ProtocolFault(.damagedFrame, "A frame was damaged in transit.")

    /// The fault of a message that lacks its check. Without the check, lost bytes could make the rest look like other
    /// fields of the message.
    static let unchecked = ProtocolFault(.damagedFrame, "A message has no check, or the check was damaged in transit.")
}
