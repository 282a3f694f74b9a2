import TransferModel

/// Zstd frames made by hand (RFC 8878, section 3.1.1), valid and invalid.
extension Frames {
    private static let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]

    /// Makes a single segment that declares its size, of blocks with uncompressed bytes.
    static func zstd(_ content: [UInt8]) -> [UInt8] {
        let largest = 128 << 10
        var frame = magic + [0xa0] + littleEndian(content.count, 4)
        for start in stride(from: 0, to: max(1, content.count), by: largest) {
            let block = content[start..<min(content.count, start + largest)]
            frame += littleEndian(block.count << 3 | (start + largest >= content.count ? 1 : 0), 3) + block
        }
        return frame
    }

    /// Makes a frame of zeros without a size, with one byte for each 128 KiB.
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
