import TransferModel

/// Frames of zstd by hand (RFC 8878, section 3.1.1), whole and otherwise.
extension Frames {
    private static let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]

    /// A single segment that says its size, of blocks that hold their bytes as they are.
    static func zstd(_ content: [UInt8]) -> [UInt8] {
        let largest = 128 << 10
        var frame = magic + [0xa0] + littleEndian(content.count, 4)
        for start in stride(from: 0, to: max(1, content.count), by: largest) {
            let block = content[start..<min(content.count, start + largest)]
            frame += littleEndian(block.count << 3 | (start + largest >= content.count ? 1 : 0), 3) + block
        }
        return frame
    }

    /// Zeros, one byte for each 128 KiB, without a size.
    static func zstdBomb(blocks: Int) -> [UInt8] {
        let repeated = (128 << 10) << 3 | 1 << 1
        return (1...blocks).reduce(into: magic + [0x00, 7 << 3]) { frame, number in
            frame += littleEndian(repeated | (number == blocks ? 1 : 0), 3) + [0]
        }
    }

    private static func littleEndian(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
