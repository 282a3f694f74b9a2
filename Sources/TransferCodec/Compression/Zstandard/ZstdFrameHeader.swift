/// The header of a zstd frame (RFC 8878, section 3.1.1.1), as far as it determines how much memory decoding needs.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic number |
/// | 1 | descriptor: size of the content size (bits 7 and 6), single segment (5), reserved (3), checksum (2), dictionary (1 and 0) |
/// | 0 or 1 | window, unless it is a single segment |
/// | 0, 1, 2, 4 or 8 | content size, the lowest byte first |
struct ZstdFrameHeader: Equatable {
    /// Size of the content in bytes; nil if the frame doesn't say.
    let contentSize: UInt64?

    /// Bytes that a decoder must keep; in a single segment, these are all bytes of the content.
    let windowSize: UInt64

    private static let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]

    /// - Throws: `corrupt` unless it is a whole header of a frame without a dictionary. Skippable frames (section
    ///   3.1.2) have no content and are refused.
    init(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        guard bytes.count > 5, bytes.prefix(4).elementsEqual(Self.magic) else { throw .corrupt }
        let descriptor = bytes[4]
        guard descriptor & 0b1000 == 0, descriptor & 0b11 == 0 else { throw .corrupt }
        let isSingle = descriptor & 0b10_0000 != 0
        let start = isSingle ? 5 : 6
        let length = Self.contentSizeLength(descriptor, isSingle: isSingle)
        guard bytes.count >= start + length else { throw .corrupt }
        var size: UInt64 = 0
        for (index, byte) in bytes[start..<start + length].enumerated() { size |= UInt64(byte) << (8 * index) }
        // The values of a field of two bytes begin after those of a field of one byte, at 256.
        if length == 2 { size += 256 }
        contentSize = length == 0 ? nil : size
        windowSize = isSingle ? size : Self.windowSize(bytes[5])
    }

    private static func contentSizeLength(_ descriptor: UInt8, isSingle: Bool) -> Int {
        switch descriptor >> 6 {
        case 0: isSingle ? 1 : 0
        case 1: 2
        case 2: 4
        default: 8
        }
    }

    /// Window size: a power of two from 1 KiB on, plus up to seven eighths of it; at most some 3.75 TiB.
    private static func windowSize(_ byte: UInt8) -> UInt64 {
        let base: UInt64 = 1 << (10 + UInt64(byte >> 3))
        return base + base / 8 * UInt64(byte & 7)
    }
}
