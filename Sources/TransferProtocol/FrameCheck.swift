/// The check over the body of a message: CRC-32C (Castagnoli; RFC 3720, appendix B.4). Content has its digest, but a
/// damaged bit in a path or in an acknowledgement would only give another path, and TCP's own check misses some.
enum FrameCheck {
    /// Bytes of the check on the wire.
    static let size = 4

    /// The reversed polynomial 0x1EDC6F41.
    private static let polynomial: UInt32 = 0x82F6_3B78

    /// What a byte adds, for all bytes.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { word, _ in word >> 1 ^ (word & 1 == 0 ? 0 : polynomial) }
    }

    static func value(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            ~bytes.reduce(.max) { word, byte in word >> 8 ^ table[Int(UInt8(truncatingIfNeeded: word) ^ byte)] }
        }
    }
}

extension FunctionCode {
    /// Whether this side ends such messages with a check: those that name places or uploads, and promise what stands there.
    var isChecked: Bool {
        switch self {
        case .begin, .resume, .result, .lookup, .unknown: true
        case .hello, .welcome, .ping, .pong, .goodbye, .accept, .data, .block, .end, .abort, .received, .have: false
        }
    }
}

extension [UInt8] {
    /// Ends a message with a check of its body, which starts at `start`.
    mutating func appendCheck(from start: Int) {
        let value = withUnsafeBytes { FrameCheck.value(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        append(FieldTag.check.rawValue)
        append(bigEndian: UInt16(FrameCheck.size))
        append(bigEndian: value)
    }
}

extension ProtocolFault {
    static let damaged = ProtocolFault(.damagedFrame, "A frame was damaged on its way.")
}
