/// Decodes the first frame of a GIF row by row (GIF89a specification, section 22 and appendices E and F).
struct GIFDecoder {
    private let header: GIFHeader
    private var codes: GIFCodes
    private let palette: [Pixel]

    /// First row and distance of rows in each pass of an interlaced frame (appendix E).
    private static let interlacedPasses = [
        (first: 0, step: 8), (first: 4, step: 8), (first: 2, step: 4), (first: 1, step: 2),
    ]

    /// - Parameters:
    ///   - bytes: the whole file, for as long as the decoder is used.
    ///   - header: of this file.
    /// - Throws: `damaged` for an impossible size of codes.
    init(_ bytes: UnsafeRawBufferPointer, _ header: GIFHeader) throws(PictureFault) {
        let offset = header.frame.dataOffset
        guard offset < bytes.count, let codes = GIFCodes(bytes, at: offset + 1, bits: Int(bytes[offset])) else {
            throw .damaged("The GIF's pixels are damaged.")
        }
        (self.header, self.codes) = (header, codes)
        let frame = header.frame
        palette = (0..<256).map { index in
            if frame.transparent.map(Int.init) == index { return Pixel() }
            // Browsers show entries that the palette does not have in black, too.
            guard frame.palette.count >= index * 3 + 3 else { return Pixel(0, 0, 0, 255) }
            return Pixel(frame.palette[index * 3], frame.palette[index * 3 + 1], frame.palette[index * 3 + 2], 255)
        }
    }

    /// Decodes all rows that are there into the scaler. The logical screen is transparent around the frame.
    ///
    /// - Returns: whether no row is missing.
    /// - Throws: `damaged` if there is no row.
    mutating func decode(into scaler: inout AreaScaler) throws(PictureFault) -> Bool {
        let frame = header.frame
        var row = [Pixel](repeating: Pixel(), count: header.width)
        var indices = [UInt8](repeating: 0, count: frame.width)
        var hasRow = false
        for pass in frame.isInterlaced ? Self.interlacedPasses : [(first: 0, step: 1)] {
            for y in stride(from: pass.first, to: frame.height, by: pass.step) {
                guard codes.fill(&indices) else {
                    guard hasRow else { throw .damaged("The GIF's first row is damaged.") }
                    return false
                }
                for (x, index) in indices.enumerated() { row[frame.left + x] = palette[Int(index)] }
                row.withUnsafeBufferPointer { scaler.add($0, at: frame.top + y) }
                hasRow = true
            }
        }
        return true
    }
}

/// The indices that the codes of a frame stand for: LZW with codes of 3 to 12 bits (appendix F).
///
/// The table is as after a clear code at the beginning, because not every encoder writes one. Work is bounded by the
/// pixels that are asked for and the bytes of the file.
private struct GIFCodes {
    /// The longest code has 12 bits.
    private static let mostCodes = 4096

    private var input: GIFBits
    /// Bits of an index into the palette; codes have at least one more.
    private let bits: Int
    private let clear: Int
    /// Bits of the next code.
    private var size: Int
    /// The code that the table gets next.
    private var next: Int
    private var previous: Int?
    /// Code without its last index, for codes above `clear`.
    private var prefixes = [UInt16](repeating: 0, count: mostCodes)
    /// Last index of a code.
    private var suffixes = [UInt8](repeating: 0, count: mostCodes)
    /// First index of a code.
    private var firsts = [UInt8](repeating: 0, count: mostCodes)
    /// Indices of the latest code that were not taken yet, the next one last.
    private var pending: [UInt8] = []

    /// - Returns: nil for a number of bits that palettes do not need.
    init?(_ bytes: UnsafeRawBufferPointer, at offset: Int, bits: Int) {
        guard (1...8).contains(bits) else { return nil }
        input = GIFBits(bytes, at: offset)
        self.bits = bits
        clear = 1 << bits
        (size, next) = (bits + 1, clear + 2)
        for index in 0..<clear { (suffixes[index], firsts[index]) = (UInt8(index), UInt8(index)) }
        pending.reserveCapacity(Self.mostCodes)
    }

    /// Fills the row with indices. False if the codes end before, or are damaged.
    mutating func fill(_ row: inout [UInt8]) -> Bool {
        var count = 0
        while count < row.count {
            if let index = pending.popLast() {
                row[count] = index
                count += 1
            } else if !readCode() {
                return false
            }
        }
        return true
    }

    /// Reads one code, and puts the indices for which it stands into `pending`.
    private mutating func readCode() -> Bool {
        guard let code = input.read(size), code != clear + 1 else { return false }
        if code == clear {
            (size, next, previous) = (bits + 1, clear + 2, nil)
            return true
        }
        guard let before = previous else {
            // The first code stands for an index.
            guard code < clear else { return false }
            pending.append(UInt8(truncatingIfNeeded: code))
            previous = code
            return true
        }
        // The code that the table gets now stands for the one before and its first index again.
        guard code < next || code == next && next < Self.mostCodes else { return false }
        if next < Self.mostCodes {
            prefixes[next] = UInt16(before)
            firsts[next] = firsts[before]
            suffixes[next] = firsts[code == next ? before : code]
            next += 1
            if next == 1 << size, size < 12 { size += 1 }
        }
        unfold(code)
        previous = code
        return true
    }

    /// A code's prefix is always smaller, so this ends.
    private mutating func unfold(_ code: Int) {
        var code = code
        while code > clear {
            pending.append(suffixes[code])
            code = Int(prefixes[code])
        }
        pending.append(suffixes[code])
    }
}

/// Bits of consecutive sub-blocks, the lowest first.
private struct GIFBits {
    private let bytes: UnsafeRawBufferPointer
    private var offset: Int
    /// Bytes that are left in the sub-block.
    private var left = 0
    private var buffer = 0
    private var count = 0

    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        (self.bytes, self.offset) = (bytes, offset)
    }

    /// Reads up to 12 bits; nil at the end.
    mutating func read(_ bits: Int) -> Int? {
        while count < bits {
            if left == 0 {
                guard offset < bytes.count, bytes[offset] > 0 else { return nil }
                left = Int(bytes[offset])
                offset += 1
            }
            guard offset < bytes.count else { return nil }
            buffer |= Int(bytes[offset]) << count
            (offset, left, count) = (offset + 1, left - 1, count + 8)
        }
        defer {
            buffer >>= bits
            count -= bits
        }
        return buffer & (1 << bits - 1)
    }
}
