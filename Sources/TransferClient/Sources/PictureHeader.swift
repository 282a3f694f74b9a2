/// The beginning of a picture from an untrusted source: every access is checked against the bounds.
struct PictureHeader {
    /// Format, width and height in pixels.
    typealias Found = (Picture.Format, Int, Int)

    private let content: UnsafeRawBufferPointer

    init(_ content: UnsafeRawBufferPointer) {
        self.content = content
    }

    /// The size is in the first chunk (PNG, section 11.2.2).
    var png: Found? {
        guard has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: 0), has("IHDR", at: 12),
            let width = bigEndian(at: 16, bytes: 4), let height = bigEndian(at: 20, bytes: 4)
        else { return nil }
        return (.png, width, height)
    }

    /// The size is in the logical screen descriptor after the signature (GIF89a, section 18).
    var gif: Found? {
        guard has("GIF87a", at: 0) || has("GIF89a", at: 0), let width = littleEndian(at: 6, bytes: 2),
            let height = littleEndian(at: 8, bytes: 2)
        else { return nil }
        return (.gif, width, height)
    }

    /// The size is in the container's first chunk: simple (RFC 6386, section 9.1), lossless or extended (RFC 9649).
    var webp: Found? {
        guard has("RIFF", at: 0), has("WEBP", at: 8) else { return nil }
        return simple ?? lossless ?? extended
    }

    private var simple: Found? {
        guard has("VP8 ", at: 12), has([0x9D, 0x01, 0x2A], at: 23), let width = littleEndian(at: 26, bytes: 2),
            let height = littleEndian(at: 28, bytes: 2)
        else { return nil }
        // The two highest bits are a scale.
        return (.webp, width & 0x3FFF, height & 0x3FFF)
    }

    private var lossless: Found? {
        guard has("VP8L", at: 12), has([0x2F], at: 20), let bits = littleEndian(at: 21, bytes: 4) else { return nil }
        return (.webp, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    }

    private var extended: Found? {
        guard has("VP8X", at: 12), let width = littleEndian(at: 24, bytes: 3),
            let height = littleEndian(at: 27, bytes: 3)
        else { return nil }
        return (.webp, width + 1, height + 1)
    }

    /// Reads one segment after the other up to the frame header (ITU-T T.81, annex B). Each segment takes four bytes at
    /// least, so the loop ends.
    var jpeg: Found? {
        guard has([0xFF, 0xD8], at: 0) else { return nil }
        var position = 2
        while let marker = marker(at: &position) {
            if Self.frames.contains(marker) {
                guard let height = bigEndian(at: position + 3, bytes: 2),
                    let width = bigEndian(at: position + 5, bytes: 2)
                else { return nil }
                return (.jpeg, width, height)
            }
            // The scan, or the end of the picture: no frame header follows.
            guard marker != 0xDA, marker != 0xD9, let length = bigEndian(at: position, bytes: 2), length >= 2 else {
                return nil
            }
            position += length
        }
        return nil
    }

    /// SOF0 to SOF15 without DHT, JPG and DAC, which lie between (table B.1).
    private static let frames = Set<UInt8>(0xC0...0xCF).subtracting([0xC4, 0xC8, 0xCC])

    /// Moves behind the next marker, which any number of fill bytes may precede.
    private func marker(at position: inout Int) -> UInt8? {
        guard has([0xFF], at: position) else { return nil }
        while position < content.count, content[position] == 0xFF { position += 1 }
        guard position < content.count else { return nil }
        position += 1
        return content[position - 1]
    }

    private func has(_ bytes: [UInt8], at offset: Int) -> Bool {
        offset + bytes.count <= content.count && content[offset..<offset + bytes.count].elementsEqual(bytes)
    }

    private func has(_ text: String, at offset: Int) -> Bool { has(Array(text.utf8), at: offset) }

    private func bigEndian(at offset: Int, bytes: Int) -> Int? {
        guard offset + bytes <= content.count else { return nil }
        return content[offset..<offset + bytes].reduce(0) { $0 << 8 | Int($1) }
    }

    private func littleEndian(at offset: Int, bytes: Int) -> Int? {
        guard offset + bytes <= content.count else { return nil }
        return content[offset..<offset + bytes].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
