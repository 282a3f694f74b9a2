/// The chunks of a WebP (RFC 9649, section 2).
struct WebPHeader {
    /// Pixels of the canvas, on which frames are placed.
    private(set) var width = 0
    private(set) var height = 0
    private(set) var hasAlpha = false
    private(set) var isAnimated = false
    private(set) var exif: Exif?
    private(set) var hasLocationInXMP = false
    private(set) var icc: [UInt8]?
    /// The first frame of an animation.
    private(set) var firstFrame: Frame?

    /// Part of the canvas that a frame covers, and where its chunks are.
    struct Frame: Equatable {
        let left: Int
        let top: Int
        let width: Int
        let height: Int
        /// Range of the chunks with its picture in the file.
        let data: Range<Int>
    }

    /// Chunks that are read. An animation has one for each frame, and metadata may follow them.
    private static let mostChunks = 16_384

    /// - Throws: `damaged` if the chunks name no size.
    init(_ source: some PictureSource) throws(PictureFault) {
        let head = source.window(at: 0, count: 12)
        guard head.has("RIFF", at: 0), head.has("WEBP", at: 8),
            let length = head.integer(at: 4, bytes: 4, .littleEndian)
        else { throw .damaged("The WebP has no header.") }
        let end = min(source.size, length + 8)
        var offset = 12
        for _ in 0..<Self.mostChunks {
            guard let chunk = RIFFChunk(source, at: offset, end: end) else { break }
            try read(chunk, source)
            offset = chunk.next
        }
        guard width > 0, height > 0 else { throw .damaged("The WebP has no picture.") }
    }

    private mutating func read(_ chunk: RIFFChunk, _ source: some PictureSource) throws(PictureFault) {
        switch chunk.name {
        case "VP8X":
            let window = source.window(at: chunk.body.lowerBound, count: 10)
            guard let flags = window[0], let width = window.integer(at: 4, bytes: 3, .littleEndian),
                let height = window.integer(at: 7, bytes: 3, .littleEndian)
            else { throw .damaged("The WebP's header is damaged.") }
            (self.width, self.height) = (width + 1, height + 1)
            // Section 2.7.1: 0x10 is alpha, 0x02 is animation.
            (hasAlpha, isAnimated) = (flags & 0x10 != 0, flags & 0x02 != 0)
        case "VP8 ", "VP8L":
            // The size in an extended header is that of the canvas.
            guard width == 0 else { return }
            let size = try Self.size(chunk, source)
            (width, height, hasAlpha) = (size.width, size.height, size.hasAlpha)
        case "ANMF":
            if firstFrame == nil {
                firstFrame = Self.frame(source.window(at: chunk.body.lowerBound, count: 16), chunk.body)
            }
        case "ICCP":
            if icc == nil, chunk.body.count <= PictureLimits.profileSize {
                icc = source.exactly(at: chunk.body.lowerBound, count: chunk.body.count)?.bytes
            }
        case "EXIF":
            guard exif == nil else { return }
            let window = source.window(
                at: chunk.body.lowerBound, count: min(chunk.body.count, PictureLimits.exifSize))
            exif = Exif(window, at: chunk.body.lowerBound)
        case "XMP ":
            let window = source.window(
                at: chunk.body.lowerBound, count: min(chunk.body.count, PictureLimits.exifSize))
            hasLocationInXMP = hasLocationInXMP || window.hasLocationInXMP
        default: break
        }
    }

    /// Size of a lossy picture (RFC 6386, section 9.1) or a lossless one (RFC 9649, section 3.4).
    private static func size(
        _ chunk: RIFFChunk, _ source: some PictureSource
    ) throws(PictureFault) -> (width: Int, height: Int, hasAlpha: Bool) {
        let window = source.window(at: chunk.body.lowerBound, count: min(10, chunk.body.count))
        if chunk.name == "VP8 " {
            guard window.integer(at: 3, bytes: 3) == 0x9D012A,
                let width = window.integer(at: 6, bytes: 2, .littleEndian),
                let height = window.integer(at: 8, bytes: 2, .littleEndian)
            else { throw .damaged("The WebP's picture has no header.") }
            return (width & 0x3FFF, height & 0x3FFF, false)
        }
        guard window[0] == 0x2F, let bits = window.integer(at: 1, bytes: 4, .littleEndian) else {
            throw .damaged("The WebP's picture has no header.")
        }
        return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1, bits >> 28 & 1 == 1)
    }

    /// Reads the header of a frame (section 2.7.1.2).
    private static func frame(_ window: Window, _ body: Range<Int>) -> Frame? {
        guard body.count > 16, let left = window.integer(at: 0, bytes: 3, .littleEndian),
            let top = window.integer(at: 3, bytes: 3, .littleEndian),
            let width = window.integer(at: 6, bytes: 3, .littleEndian),
            let height = window.integer(at: 9, bytes: 3, .littleEndian)
        else { return nil }
        return Frame(
            left: left * 2, top: top * 2, width: width + 1, height: height + 1,
            data: body.lowerBound + 16..<body.upperBound)
    }

    var facts: PictureFacts {
        var facts = PictureFacts(format: .webp, width: width, height: height)
        facts.add(exif)
        facts.hasLocation = facts.hasLocation || hasLocationInXMP
        (facts.hasAlpha, facts.isAnimated, facts.icc) = (hasAlpha, isAnimated, icc)
        return facts
    }
}

/// A chunk of RIFF: its name, its length in little-endian order, and its body, padded to an even length.
struct RIFFChunk {
    let name: String
    /// Range in the file, which ends with the file if the chunk reaches beyond it.
    let body: Range<Int>
    /// Offset of the next chunk.
    let next: Int

    /// - Returns: nil if no header of a chunk is there.
    init?(_ source: some PictureSource, at offset: Int, end: Int) {
        guard end - offset >= 8 else { return nil }
        let window = source.window(at: offset, count: 8)
        guard let name = window.slice(at: 0, count: 4), let length = window.integer(at: 4, bytes: 4, .littleEndian)
        else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
        body = offset + 8..<min(end, offset + 8 + length)
        next = offset + 8 + length + length & 1
    }
}
