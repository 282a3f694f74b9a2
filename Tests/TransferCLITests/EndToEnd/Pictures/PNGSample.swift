import TransferModel

/// Small files of PNG.
enum PNGSample {
    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(data.count))
        let checked = Array(name.utf8) + data
        bytes += checked
        bytes.append(bigEndian: checked.withUnsafeBytes { PNGChecksum.of($0) })
        return bytes
    }

    /// A grey picture of these pixels, not compressed.
    static func make(_ width: Int, _ height: Int, rows: Int? = nil) -> [UInt8] {
        var header: [UInt8] = []
        header.append(bigEndian: UInt32(width))
        header.append(bigEndian: UInt32(height))
        header += [8, 0, 0, 0, 0]
        var raw: [UInt8] = []
        for row in 0..<(rows ?? height) {
            raw.append(0)
            for column in 0..<width { raw.append(UInt8(truncatingIfNeeded: column + row)) }
        }
        var stream: [UInt8] = [0x78, 0x01, 0x01]
        stream.append(littleEndian: UInt16(raw.count))
        stream.append(littleEndian: ~UInt16(raw.count))
        stream += raw
        stream.append(bigEndian: PNGChecksum.adler(raw))
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("IDAT", stream)
            + chunk("IEND", [])
    }
}

/// The checksums of PNG (section 5.5) and of zlib (RFC 1950), bit by bit.
private enum PNGChecksum {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    static func adler(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }
}
