import Testing

@testable import TransferPictures

/// The decoders of our own against references that are written with other means, pixel by pixel.
@Suite struct DecoderTests {
    struct Kind: CustomTestStringConvertible {
        let colour: PNGHeader.Colour
        let depth: Int
        let isInterlaced: Bool

        var testDescription: String { "\(colour), \(depth) bits\(isInterlaced ? ", interlaced" : "")" }

        static let all = PNGHeader.Colour.allCases.flatMap { colour in
            [1, 2, 4, 8, 16].filter { colour.allows(depth: $0) }.flatMap { depth in
                [false, true].map { Kind(colour: colour, depth: depth, isInterlaced: $0) }
            }
        }
    }

    /// Decodes without changing the size, by which the scaler changes nothing.
    private static func decodedPNG(_ bytes: [UInt8]) throws -> (raster: Raster, isWhole: Bool) {
        try bytes.withUnsafeBytes { bytes in
            let header = try PNGHeader(MemorySource(bytes))
            var scaler = AreaScaler(
                width: header.width, height: header.height, to: (header.width, header.height), rows: [],
                keepsAlpha: true)
            var decoder = try PNGDecoder(bytes, header)
            let isWhole = try decoder.decode(into: &scaler)
            return (scaler.finish(), isWhole)
        }
    }

    /// A value of each sample that covers the whole depth over the picture.
    private static func samples(_ kind: Kind, _ x: Int, _ y: Int) -> [Int] {
        let largest = 1 << kind.depth - 1
        return (0..<kind.colour.samples).map { (x * (977 + $0 * 31) + y * (1_409 + $0 * 17)) % (largest + 1) }
    }

    private static func expected(_ kind: Kind, _ samples: [Int], palette: [UInt8], alpha: [UInt8]) -> Pixel {
        let largest = Double(1 << kind.depth - 1)
        let bytes = samples.map { UInt8((Double($0) * 255 / largest).rounded()) }
        switch kind.colour {
        case .gray: return Pixel(bytes[0], bytes[0], bytes[0], 255)
        case .grayAlpha: return Pixel(bytes[0], bytes[0], bytes[0], bytes[1])
        case .rgb: return Pixel(bytes[0], bytes[1], bytes[2], 255)
        case .rgba: return Pixel(bytes[0], bytes[1], bytes[2], bytes[3])
        case .palette:
            let entry = samples[0] * 3
            return Pixel(
                palette[entry], palette[entry + 1], palette[entry + 2],
                samples[0] < alpha.count ? alpha[samples[0]] : 255)
        }
    }

    /// Sizes with rows that do not end with a byte, and passes that are empty.
    @Test(arguments: Kind.all, [(1, 1), (3, 2), (17, 11), (33, 20)])
    func everyPNGIsDecoded(_ kind: Kind, _ size: (width: Int, height: Int)) throws {
        let palette = (0..<min(256, 1 << kind.depth)).flatMap { index -> [UInt8] in
            [UInt8(index * 5 % 256), UInt8(255 - index), UInt8(index)]
        }
        let alpha: [UInt8] = [0, 80]
        let isPalette = kind.colour == .palette
        let chunks =
            isPalette ? PictureMaker.pngChunk("PLTE", palette) + PictureMaker.pngChunk("tRNS", alpha) : []
        let file = PictureMaker.png(
            size.width, size.height, kind.colour, depth: kind.depth, isInterlaced: kind.isInterlaced, chunks: chunks,
            piece: 7
        ) { Self.samples(kind, $0, $1) }
        let decoded = try Self.decodedPNG(file)
        #expect(decoded.isWhole)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let pixel = decoded.raster.pixels[y * size.width + x]
                let expected = Self.expected(kind, Self.samples(kind, x, y), palette: palette, alpha: alpha)
                // The colours of transparent pixels have no meaning.
                #expect(pixel == expected || pixel.w == 0 && expected.w == 0, "(\(x), \(y))")
            }
        }
    }

    @Test(arguments: [(PNGHeader.Colour.gray, 8), (.gray, 16), (.gray, 2), (.rgb, 8), (.rgb, 16)])
    func oneColourIsTransparent(_ colour: PNGHeader.Colour, _ depth: Int) throws {
        let values = [1, 2, 3].prefix(colour.samples)
        let file = PictureMaker.png(
            2, 1, colour, depth: depth, chunks: PictureMaker.pngChunk("tRNS", values.flatMap { [0, UInt8($0)] })
        ) { x, _ in x == 0 ? Array(values) : values.map { $0 ^ 1 } }
        let raster = try Self.decodedPNG(file).raster
        #expect(raster.pixels.map(\.w) == [0, 255])
        let facts = try PictureFacts.read(file)
        #expect(facts.hasAlpha)
    }

    /// A palette without the entries that the pixels name, and pixels after the stream's end.
    @Test func aPaletteMayBeTooShort() throws {
        let chunks = PictureMaker.pngChunk("PLTE", [9, 8, 7, 6, 5])
        let file = PictureMaker.png(2, 1, .palette, depth: 8, chunks: chunks) { x, _ in [x * 200] }
        #expect(try Self.decodedPNG(file).raster.pixels == [Pixel(9, 8, 7, 255), Pixel(0, 0, 0, 255)])
        let none = PictureMaker.png(2, 1, .palette, depth: 8) { x, _ in [x] }
        #expect(throws: PictureFault.damaged("The PNG has no palette.")) { try Thumbnail.make(none) }
    }

    private static func decodedGIF(_ bytes: [UInt8]) throws -> (raster: Raster, isWhole: Bool) {
        try bytes.withUnsafeBytes { bytes in
            let header = try GIFHeader(MemorySource(bytes))
            var scaler = AreaScaler(
                width: header.width, height: header.height, to: (header.width, header.height), rows: [],
                keepsAlpha: true)
            var decoder = try GIFDecoder(bytes, header)
            let isWhole = try decoder.decode(into: &scaler)
            return (scaler.finish(), isWhole)
        }
    }

    /// Frames that fill the table several times, and the smallest ones.
    @Test(arguments: [1, 2, 5, 8], [false, true])
    func everyGIFIsDecoded(_ bits: Int, _ isInterlaced: Bool) throws {
        for (width, height) in [(1, 1), (7, 5), (150, 90)] {
            let mask = 1 << bits - 1
            func index(_ x: Int, _ y: Int) -> UInt8 { UInt8((x * x / 3 + y * 11 + x * y) & mask) }
            let file = PictureMaker.gif(
                screen: (width + 3, height + 2), left: 2, top: 1, width: width, height: height, bits: bits,
                isInterlaced: isInterlaced, transparent: 1, hasLocalPalette: bits == 5, index: index)
            let decoded = try Self.decodedGIF(file)
            #expect(decoded.isWhole)
            for y in 0..<height {
                for x in 0..<width {
                    let value = index(x, y)
                    let pixel = decoded.raster.pixels[(y + 1) * (width + 3) + x + 2]
                    #expect(
                        value == 1
                            ? pixel.w == 0 : pixel == Pixel(value, 255 - value, UInt8(Int(value) * 3 % 256), 255),
                        "(\(x), \(y)) of \(width) x \(height)")
                }
            }
            #expect(decoded.raster.pixels[0].w == 0, "The screen around the frame is opaque.")
        }
    }

    /// Codes above those in the table, before any code, and a frame that never ends.
    @Test(
        arguments: [
            [0x04, 0xFF, 0xFF, 0xFF, 0xFF, 0x00], [0x02, 0x44, 0x7F, 0x00], [0x01, 0x05, 0x00], [0x00], [0xFF, 0x01],
        ] as [[UInt8]]) func codesThatDoNotExistAreDamage(_ blocks: [UInt8]) throws
    {
        var file = PictureMaker.gif(screen: (4, 4), width: 4, height: 4, bits: 2) { _, _ in 0 }
        // Header, palette of four, image descriptor, size of codes.
        file = Array(file[..<(13 + 12 + 10 + 1)]) + blocks
        #expect(throws: PictureFault.self) { try Thumbnail.make(file) }
    }

    @Test func framesLargerThanTheScreenEnlargeIt() throws {
        let file = PictureMaker.gif(screen: (1, 1), left: 3, top: 4, width: 5, height: 6) { _, _ in 9 }
        let facts = try PictureFacts.read(file)
        #expect(facts.width == 8 && facts.height == 10)
        #expect(try Thumbnail.make(file).isWhole == true)
    }

    /// The average of areas against floating-point numbers.
    @Test(arguments: [(10, 10, 3, 3), (100, 7, 9, 1), (7, 5, 7, 5), (64, 48, 13, 10), (5, 300, 1, 60)])
    func areasAreAveraged(_ width: Int, _ height: Int, _ newWidth: Int, _ newHeight: Int) {
        let raster = PictureMaker.gradient(width, height, hasAlpha: true)
        for (rows, isReversed) in [(AreaScaler.Rows.inOrder, false), ([], false), ([], true)] {
            var scaler = AreaScaler(
                width: width, height: height, to: (newWidth, newHeight), rows: rows, keepsAlpha: true)
            for y in isReversed ? Array((0..<height).reversed()) : Array(0..<height) {
                Array(raster.pixels[y * width..<(y + 1) * width]).withUnsafeBufferPointer { scaler.add($0, at: y) }
            }
            let scaled = scaler.finish()
            for y in 0..<newHeight {
                for x in 0..<newWidth {
                    var (sum, total) = (SIMD4<Double>(), 0.0)
                    for row in 0..<height {
                        for column in 0..<width {
                            let weight =
                                Self.overlap(column, x, width, newWidth) * Self.overlap(row, y, height, newHeight)
                            let pixel = raster.pixels[row * width + column]
                            let alpha = Double(pixel.w) * weight
                            sum += SIMD4(Double(pixel.x), Double(pixel.y), Double(pixel.z), 0) * alpha
                            sum.w += alpha
                            total += weight
                        }
                    }
                    let pixel = scaled.pixels[y * newWidth + x]
                    #expect(abs(Double(pixel.w) - sum.w / total) <= 0.51)
                    guard sum.w > 0 else { continue }
                    #expect(abs(Double(pixel.x) - sum.x / sum.w) <= 0.51)
                    #expect(abs(Double(pixel.y) - sum.y / sum.w) <= 0.51)
                    #expect(abs(Double(pixel.z) - sum.z / sum.w) <= 0.51)
                }
            }
        }
    }

    /// Length of the part of an old pixel that a new one covers, in old pixels.
    private static func overlap(_ old: Int, _ new: Int, _ size: Int, _ newSize: Int) -> Double {
        let scale = Double(size) / Double(newSize)
        return max(0, min(Double(old + 1), Double(new + 1) * scale) - max(Double(old), Double(new) * scale))
    }

    /// The largest sums that occur: a row as long as rows may be, white and opaque.
    @Test func theLongestRowDoesNotOverflow() {
        for rows in [[.inOrder, .opaque], .inOrder] as [AreaScaler.Rows] {
            var scaler = AreaScaler(
                width: PictureLimits.side, height: 3, to: (1, 1), rows: rows, keepsAlpha: true)
            let row = [Pixel](repeating: Pixel(repeating: 255), count: PictureLimits.side)
            for y in 0..<3 { row.withUnsafeBufferPointer { scaler.add($0, at: y) } }
            #expect(scaler.finish().pixels == [Pixel(repeating: 255)])
        }
    }
}
