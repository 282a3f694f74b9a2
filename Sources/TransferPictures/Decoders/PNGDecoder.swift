/// Decodes a PNG row by row (W3C PNG, third edition, sections 7 to 10), so that only two rows are in memory.
struct PNGDecoder {
    /// A part of the picture that is stored as a picture: every `step`-th pixel from `first` on, in both directions.
    private struct Pass {
        let first: (x: Int, y: Int)
        let step: (x: Int, y: Int)

        /// Number of the pixels in one direction, which is 0 if the picture ends before the first one.
        static func count(_ size: Int, _ first: Int, _ step: Int) -> Int {
            size > first ? (size - first - 1) / step + 1 : 0
        }
    }

    private static let wholePass = [Pass(first: (0, 0), step: (1, 1))]

    /// The seven passes of Adam7 (section 8.2).
    private static let interlacedPasses = [
        Pass(first: (0, 0), step: (8, 8)), Pass(first: (4, 0), step: (8, 8)), Pass(first: (0, 4), step: (4, 8)),
        Pass(first: (2, 0), step: (4, 4)), Pass(first: (0, 2), step: (2, 4)), Pass(first: (1, 0), step: (2, 2)),
        Pass(first: (0, 1), step: (1, 2)),
    ]

    private let header: PNGHeader
    private let pixels: PNGPixels
    private var data: PNGData

    /// - Parameters:
    ///   - bytes: the whole file, for as long as the decoder is used.
    ///   - header: of this file.
    /// - Throws: `damaged` if the file has no pixels, or lacks its palette.
    init(_ bytes: UnsafeRawBufferPointer, _ header: PNGHeader) throws(PictureFault) {
        guard let offset = header.dataOffset else { throw .damaged("The PNG has no pixels.") }
        guard header.colour != .palette || header.palette.count >= 3 else { throw .damaged("The PNG has no palette.") }
        self.header = header
        pixels = PNGPixels(header)
        data = PNGData(bytes, at: offset)
    }

    /// Decodes all rows that are there into the scaler.
    ///
    /// - Returns: whether no row is missing.
    /// - Throws: `damaged` if there is no row.
    mutating func decode(into scaler: inout AreaScaler) throws(PictureFault) -> Bool {
        var hasRow = false
        for pass in header.isInterlaced ? Self.interlacedPasses : Self.wholePass {
            let columns = Pass.count(header.width, pass.first.x, pass.step.x)
            let rows = Pass.count(header.height, pass.first.y, pass.step.y)
            // An empty pass has no bytes at all, not even those for filters.
            if columns == 0 || rows == 0 { continue }
            let size = (columns * header.colour.samples * header.depth + 7) / 8
            // The byte in front of a row names its filter.
            var (line, above) = ([UInt8](repeating: 0, count: size + 1), [UInt8](repeating: 0, count: size + 1))
            var row = [Pixel](repeating: Pixel(), count: header.width)
            for y in 0..<rows {
                guard data.fill(&line), PNGFilter.undo(&line, above: above, distance: distance) else {
                    guard hasRow else { throw .damaged("The PNG's first row is damaged.") }
                    return false
                }
                pixels.unpack(line, count: columns, into: &row, from: pass.first.x, step: pass.step.x)
                row.withUnsafeBufferPointer { scaler.add($0, at: pass.first.y + y * pass.step.y) }
                hasRow = true
                swap(&line, &above)
            }
        }
        return true
    }

    /// Bytes from a byte to that of the pixel before, which filters refer to.
    private var distance: Int { max(1, header.colour.samples * header.depth / 8) }
}

/// The inflated bytes of consecutive `IDAT` chunks.
private struct PNGData {
    private let bytes: UnsafeRawBufferPointer
    private let inflater = RowInflater()
    /// Offset of the next chunk.
    private var next: Int
    private var chunks = 0

    /// Chunks that are read, because empty ones cost time, too. The largest files have as many in pieces of 2 KiB.
    private static let mostChunks = PictureLimits.fileSize / 2048

    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        (self.bytes, next) = (bytes, offset)
    }

    /// Fills the line. False if the stream ends before, or is damaged.
    mutating func fill(_ line: inout [UInt8]) -> Bool {
        var count = inflater.fill(&line)
        while count < line.count {
            guard !inflater.isComplete, !inflater.isDamaged, chunks < Self.mostChunks,
                let chunk = PNGChunk(MemorySource(bytes), at: next), chunk.name == "IDAT"
            else { return false }
            (next, chunks) = (chunk.next, chunks + 1)
            inflater.give(UnsafeRawBufferPointer(rebasing: bytes[chunk.body]))
            count = inflater.fill(&line, from: count)
        }
        return true
    }
}

/// Filters of rows (section 9).
private enum PNGFilter {
    /// Undoes the filter that the first byte of the line names. Both lines have the same length.
    ///
    /// - Parameter distance: bytes to the pixel before.
    /// - Returns: false for an unknown filter.
    static func undo(_ line: inout [UInt8], above: [UInt8], distance: Int) -> Bool {
        // Trap: both lines are made with one length, which has a byte for the filter. The loops rely on it.
        precondition(line.count == above.count && !line.isEmpty, "lines of \(line.count) and \(above.count) bytes")
        let filter = line[0]
        // Bytes of the first pixel, which has none before it.
        let first = min(distance + 1, line.count)
        return line.withUnsafeMutableBufferPointer { line in
            above.withUnsafeBufferPointer { above in
                switch filter {
                case 0: break
                case 1: for index in first..<line.count { line[index] &+= line[index - distance] }
                case 2: for index in 1..<line.count { line[index] &+= above[index] }
                case 3:
                    for index in 1..<first { line[index] &+= above[index] / 2 }
                    for index in first..<line.count {
                        line[index] &+= UInt8(
                            truncatingIfNeeded: (UInt16(line[index - distance]) + UInt16(above[index])) / 2)
                    }
                case 4:
                    for index in 1..<first { line[index] &+= above[index] }
                    for index in first..<line.count {
                        line[index] &+= paeth(line[index - distance], above[index], above[index - distance])
                    }
                default: return false
                }
                return true
            }
        }
    }

    /// The neighbour that is nearest to left + above - corner (section 9.4).
    @inline(__always) private static func paeth(_ left: UInt8, _ above: UInt8, _ corner: UInt8) -> UInt8 {
        let (a, b, c) = (Int32(left), Int32(above), Int32(corner))
        let (fromLeft, fromAbove, fromCorner) = (abs(b &- c), abs(a &- c), abs(a &+ b &- c &- c))
        if fromLeft <= fromAbove, fromLeft <= fromCorner { return left }
        return fromAbove <= fromCorner ? above : corner
    }
}

/// Turns the samples of a row into pixels with 8 bits.
private struct PNGPixels {
    private let colour: PNGHeader.Colour
    private let depth: Int
    /// Pixel for each value of a sample: of the palette, or of gray with up to 8 bits.
    private let table: [Pixel]
    /// Samples of the colour that is transparent, in the depth of the picture; empty if no colour is.
    private let transparent: [Int]

    init(_ header: PNGHeader) {
        (colour, depth) = (header.colour, header.depth)
        let samples = Window(header.transparency)
        let wanted = header.colour == .gray ? 1 : header.colour == .rgb ? 3 : 0
        let found = (0..<wanted).compactMap { samples.integer(at: $0 * 2, bytes: 2) }
        let transparent = found.count == wanted ? found : []
        self.transparent = transparent
        switch header.colour {
        case .palette: table = Self.table(palette: header.palette, alpha: header.transparency)
        case .gray where header.depth <= 8:
            let largest = 1 << header.depth - 1
            table = (0..<256).map { value in
                let level = UInt8(clamping: min(value, largest) * 255 / largest)
                return Pixel(level, level, level, transparent.first == value ? 0 : 255)
            }
        default: table = []
        }
    }

    /// Entries that the palette does not have are black, as in browsers.
    private static func table(palette: [UInt8], alpha: [UInt8]) -> [Pixel] {
        (0..<256).map { index in
            guard palette.count >= index * 3 + 3 else { return Pixel(0, 0, 0, 255) }
            return Pixel(
                palette[index * 3], palette[index * 3 + 1], palette[index * 3 + 2],
                index < alpha.count ? alpha[index] : 255)
        }
    }

    /// Writes `count` pixels of a line to every `step`-th place of the row. The row has room for them, and the line has
    /// the byte for the filter in front.
    func unpack(_ line: [UInt8], count: Int, into row: inout [Pixel], from first: Int, step: Int) {
        let size = colour.samples * depth / 8
        // Trap: the sizes of both are computed from the header. The loops rely on them.
        precondition(line.count > (count * colour.samples * depth + 7) / 8, "a line of \(line.count) bytes")
        // Trap: the same.
        precondition(first + (count - 1) * step < row.count, "a row of \(row.count) pixels")
        line.withUnsafeBufferPointer { line in
            row.withUnsafeMutableBufferPointer { row in
                func set(_ pixel: (Int) -> Pixel) {
                    for index in 0..<count { row[first + index * step] = pixel(1 + index * size) }
                }
                switch (colour, depth) {
                case (.palette, 8), (.gray, 8): set { table[Int(line[$0])] }
                case (.palette, _), (.gray, 1...4): unpackBits(line, count, row, first, step)
                case (.gray, _): set { gray(Self.sample(line, $0)) }
                case (.grayAlpha, 8): set { Pixel(line[$0], line[$0], line[$0], line[$0 + 1]) }
                case (.grayAlpha, _):
                    set {
                        let level = Self.byte(Self.sample(line, $0))
                        return Pixel(level, level, level, Self.byte(Self.sample(line, $0 + 2)))
                    }
                case (.rgb, 8) where transparent.isEmpty: set { Pixel(line[$0], line[$0 + 1], line[$0 + 2], 255) }
                case (.rgb, 8): set { rgb(Int(line[$0]), Int(line[$0 + 1]), Int(line[$0 + 2])) }
                case (.rgb, _):
                    set { rgb(Self.sample(line, $0), Self.sample(line, $0 + 2), Self.sample(line, $0 + 4)) }
                case (.rgba, 8): set { Pixel(line[$0], line[$0 + 1], line[$0 + 2], line[$0 + 3]) }
                case (.rgba, _):
                    set { offset in
                        func byte(_ index: Int) -> UInt8 { Self.byte(Self.sample(line, offset + index * 2)) }
                        return Pixel(byte(0), byte(1), byte(2), byte(3))
                    }
                }
            }
        }
    }

    /// Several pixels are in one byte, the first in its highest bits (section 7.2).
    private func unpackBits(
        _ line: UnsafeBufferPointer<UInt8>, _ count: Int, _ row: UnsafeMutableBufferPointer<Pixel>, _ first: Int,
        _ step: Int
    ) {
        let mask = UInt8(1 << depth - 1)
        for index in 0..<count {
            let bit = index * depth
            row[first + index * step] = table[Int(line[1 + bit / 8] >> UInt8(8 - depth - bit % 8) & mask)]
        }
    }

    private func gray(_ sample: Int) -> Pixel {
        let level = Self.byte(sample)
        return Pixel(level, level, level, transparent.first == sample ? 0 : 255)
    }

    private func rgb(_ red: Int, _ green: Int, _ blue: Int) -> Pixel {
        let isTransparent = transparent.count == 3 && transparent == [red, green, blue]
        let alpha: UInt8 = isTransparent ? 0 : 255
        guard depth == 16 else {
            return Pixel(UInt8(clamping: red), UInt8(clamping: green), UInt8(clamping: blue), alpha)
        }
        return Pixel(Self.byte(red), Self.byte(green), Self.byte(blue), alpha)
    }

    @inline(__always) private static func sample(_ line: UnsafeBufferPointer<UInt8>, _ offset: Int) -> Int {
        Int(line[offset]) << 8 | Int(line[offset + 1])
    }

    /// Reduces 16 bits to 8, rounded (section 13.12).
    @inline(__always) private static func byte(_ sample: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (sample * 255 + 32_895) >> 16)
    }
}
