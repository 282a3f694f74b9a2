/// The chunks of a PNG (W3C PNG, third edition). An animated PNG shows its default picture, which is a plain PNG.
struct PNGHeader {
    /// What the samples of a pixel are (section 11.2.1).
    enum Colour: UInt8, CaseIterable {
        case gray = 0
        case rgb = 2
        case palette = 3
        case grayAlpha = 4
        case rgba = 6

        /// Number of samples that make a pixel.
        var samples: Int {
            switch self {
            case .gray, .palette: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgba: 4
            }
        }

        func allows(depth: Int) -> Bool {
            switch self {
            case .gray: [1, 2, 4, 8, 16].contains(depth)
            case .palette: [1, 2, 4, 8].contains(depth)
            case .rgb, .grayAlpha, .rgba: [8, 16].contains(depth)
            }
        }
    }

    private(set) var width = 0
    private(set) var height = 0
    private(set) var colour = Colour.gray
    /// Bits of a sample: 1, 2, 4, 8 or 16.
    private(set) var depth = 8
    private(set) var isInterlaced = false
    /// Red, green and blue of each entry.
    private(set) var palette: [UInt8] = []
    /// The body of `tRNS`; empty if that chunk is missing.
    private(set) var transparency: [UInt8] = []
    private(set) var isAnimated = false
    private(set) var exif: Exif?
    private(set) var hasLocationInXMP = false
    private(set) var icc: [UInt8]?
    /// Offset of the first chunk with pixels; nil if no chunk has any.
    private(set) var dataOffset: Int?

    /// The bytes with which every PNG begins (section 5.2).
    static let signatureSize = 8

    /// Chunks that are read. Encoders write chunks of 8 KiB and more.
    private static let mostChunks = 65_536

    /// Reads all chunks up to the end, because metadata may follow the pixels.
    ///
    /// - Throws: `damaged` unless the first chunk is a valid `IHDR`.
    init(_ source: some PictureSource) throws(PictureFault) {
        guard let first = PNGChunk(source, at: Self.signatureSize), first.name == "IHDR", first.body.count == 13 else {
            throw .damaged("The PNG has no header.")
        }
        try readSize(source.window(at: first.body.lowerBound, count: 13))
        var offset = first.next
        for _ in 0..<Self.mostChunks {
            guard let chunk = PNGChunk(source, at: offset), chunk.name != "IEND" else { return }
            read(chunk, source)
            offset = chunk.next
        }
    }

    private mutating func readSize(_ window: Window) throws(PictureFault) {
        guard let width = window.integer(at: 0, bytes: 4), let height = window.integer(at: 4, bytes: 4),
            let depth = window[8], let colour = window[9].flatMap(Colour.init), colour.allows(depth: Int(depth)),
            window[10] == 0, window[11] == 0, let interlace = window[12], interlace <= 1,
            // Section 7.1: four-byte integers have 31 bits.
            (1...0x7FFF_FFFF).contains(width), (1...0x7FFF_FFFF).contains(height)
        else { throw .damaged("The PNG's header is damaged.") }
        (self.width, self.height, self.colour, self.depth) = (width, height, colour, Int(depth))
        isInterlaced = interlace == 1
    }

    private mutating func read(_ chunk: PNGChunk, _ source: some PictureSource) {
        func body(_ most: Int) -> Window {
            source.window(at: chunk.body.lowerBound, count: min(most, chunk.body.count))
        }
        switch chunk.name {
        case "IDAT": dataOffset = dataOffset ?? chunk.offset
        // 256 entries at most; an entry that is cut does not count.
        case "PLTE": if palette.isEmpty { palette = body(768).bytes }
        case "tRNS": if transparency.isEmpty, colour != .grayAlpha, colour != .rgba { transparency = body(256).bytes }
        case "acTL": if dataOffset == nil { isAnimated = true }
        case "eXIf": if exif == nil { exif = Exif(body(PictureLimits.exifSize), at: chunk.body.lowerBound) }
        case "iTXt":
            let text = body(PictureLimits.exifSize)
            if text.has("XML:com.adobe.xmp\0", at: 0) { hasLocationInXMP = hasLocationInXMP || text.hasLocationInXMP }
        case "iCCP": if icc == nil { icc = Self.profile(body(2 * PictureLimits.profileSize)) }
        default: break
        }
    }

    /// Inflates a profile behind its name of 1 to 79 bytes, a NUL and the method 0 (section 11.3.2.3).
    private static func profile(_ window: Window) -> [UInt8]? {
        guard let end = window.bytes.prefix(80).firstIndex(of: 0), window[end + 1] == 0 else { return nil }
        let stream = window.bytes.dropFirst(end + 2)
        return stream.withUnsafeBytes { stream in
            let rows = RowInflater()
            rows.give(stream)
            // One byte more than allowed shows that the profile is too long.
            var profile = [UInt8](repeating: 0, count: PictureLimits.profileSize + 1)
            let count = rows.fill(&profile)
            guard rows.isComplete, count <= PictureLimits.profileSize else { return nil }
            return Array(profile[..<count])
        }
    }

    /// Bytes of all rows, without those that name filters; `Int.max` if they are more than can be counted.
    var inflatedSize: Int {
        let size = ((width * colour.samples * depth + 7) / 8).multipliedReportingOverflow(by: height)
        return size.overflow ? .max : size.partialValue
    }

    var hasAlpha: Bool { colour == .grayAlpha || colour == .rgba || !transparency.isEmpty }

    var facts: PictureFacts {
        var facts = PictureFacts(format: .png, width: width, height: height)
        facts.add(exif)
        facts.hasLocation = facts.hasLocation || hasLocationInXMP
        (facts.hasAlpha, facts.isAnimated, facts.isProgressive) = (hasAlpha, isAnimated, isInterlaced)
        facts.icc = icc
        return facts
    }
}

/// A chunk of a PNG (section 5.3): length, name, body and a CRC, which is not checked: it could only forbid to show
/// what can be shown.
struct PNGChunk {
    /// Offset of the chunk in the file.
    let offset: Int
    let name: String
    /// Range of the body in the file, which ends with the file if the chunk reaches beyond it.
    let body: Range<Int>
    /// Offset of the next chunk.
    let next: Int

    /// - Returns: nil if no header of a chunk is there.
    init?(_ source: some PictureSource, at offset: Int) {
        let window = source.window(at: offset, count: 8)
        guard let length = window.integer(at: 0, bytes: 4), let name = window.slice(at: 4, count: 4),
            length <= 0x7FFF_FFFF
        else { return nil }
        self.offset = offset
        self.name = String(decoding: name, as: UTF8.self)
        body = offset + 8..<min(source.size, offset + 8 + length)
        next = offset + 12 + length
    }
}
