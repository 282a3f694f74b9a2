/// The blocks of a GIF (GIF89a specification by CompuServe) up to its first frame.
struct GIFHeader {
    /// Pixels of the logical screen, which is enlarged if the first frame is larger, as browsers do.
    private(set) var width = 0
    private(set) var height = 0
    private(set) var frame = Frame()
    private(set) var isAnimated = false

    /// The first frame and what is needed to decode it.
    struct Frame: Equatable {
        var left = 0
        var top = 0
        var width = 0
        var height = 0
        var isInterlaced = false
        /// Index of the palette that is not drawn.
        var transparent: UInt8?
        /// Red, green and blue of each entry: the frame's own palette, or the global one.
        var palette: [UInt8] = []
        /// Offset of the code size, which the blocks of codes follow.
        var dataOffset = 0
    }

    /// Blocks in front of the first frame, and sub-blocks of 255 bytes in one of them.
    private static let mostBlocks = 65_536

    /// - Throws: `damaged` if there is no frame.
    init(_ source: some PictureSource) throws(PictureFault) {
        let head = source.window(at: 0, count: 13)
        guard head.has("GIF8", at: 0), let screenWidth = head.integer(at: 6, bytes: 2, .littleEndian),
            let screenHeight = head.integer(at: 8, bytes: 2, .littleEndian), let flags = head[10]
        else { throw .damaged("The GIF has no header.") }
        var frame = Frame()
        var offset = 13
        frame.palette = Self.palette(source, flags, &offset)
        for _ in 0..<Self.mostBlocks {
            switch source.window(at: offset, count: 2)[0] {
            case 0x21:
                readExtension(source, offset, &frame)
                offset = Self.end(source, ofBlocksAt: offset + 2)
            case 0x2C:
                let next = try Self.read(source, offset, &frame)
                (width, height) = (
                    max(screenWidth, frame.left + frame.width), max(screenHeight, frame.top + frame.height)
                )
                self.frame = frame
                isAnimated = isAnimated || Self.hasFrame(source, next)
                return
            default: throw .damaged("The GIF has no frame.")
            }
        }
        throw .damaged("The GIF has too many blocks.")
    }

    /// Reads the graphic control extension (section 23), and recognises the one for animations.
    private mutating func readExtension(_ source: some PictureSource, _ offset: Int, _ frame: inout Frame) {
        let window = source.window(at: offset, count: 14)
        if window[1] == 0xF9, let flags = window[3], let index = window[6] {
            frame.transparent = flags & 1 == 1 ? index : nil
        }
        if window.has("NETSCAPE2.0", at: 3) || window.has("ANIMEXTS1.0", at: 3) { isAnimated = true }
    }

    /// Reads the image descriptor (section 20) and returns the offset behind the frame's codes.
    private static func read(
        _ source: some PictureSource, _ offset: Int, _ frame: inout Frame
    ) throws(PictureFault) -> Int {
        let window = source.window(at: offset, count: 10)
        guard let left = window.integer(at: 1, bytes: 2, .littleEndian),
            let top = window.integer(at: 3, bytes: 2, .littleEndian),
            let width = window.integer(at: 5, bytes: 2, .littleEndian),
            let height = window.integer(at: 7, bytes: 2, .littleEndian), let flags = window[9], width > 0, height > 0
        else { throw .damaged("The GIF's frame is damaged.") }
        (frame.left, frame.top, frame.width, frame.height) = (left, top, width, height)
        frame.isInterlaced = flags & 0x40 != 0
        var offset = offset + 10
        let own = palette(source, flags, &offset)
        if !own.isEmpty { frame.palette = own }
        frame.dataOffset = offset
        return end(source, ofBlocksAt: offset + 1)
    }

    /// Reads a palette if the flags say that there is one, with 2 to 256 entries.
    private static func palette(_ source: some PictureSource, _ flags: UInt8, _ offset: inout Int) -> [UInt8] {
        guard flags & 0x80 != 0 else { return [] }
        let count = 3 << (Int(flags & 7) + 1)
        defer { offset += count }
        return source.read(at: offset, count: count)
    }

    /// Skips sub-blocks (section 15): each has its length in front, and an empty one is the last.
    private static func end(_ source: some PictureSource, ofBlocksAt offset: Int) -> Int {
        var offset = offset
        for _ in 0..<mostBlocks {
            guard let count = source.window(at: offset, count: 1)[0] else { return offset }
            offset += 1 + Int(count)
            if count == 0 { return offset }
        }
        return offset
    }

    /// Whether a frame follows, behind extensions.
    private static func hasFrame(_ source: some PictureSource, _ offset: Int) -> Bool {
        var offset = offset
        for _ in 0..<16 {
            let kind = source.window(at: offset, count: 1)[0]
            guard kind == 0x21 else { return kind == 0x2C }
            offset = end(source, ofBlocksAt: offset + 2)
        }
        return false
    }

    var facts: PictureFacts {
        var facts = PictureFacts(format: .gif, width: width, height: height)
        facts.isAnimated = isAnimated
        facts.isProgressive = frame.isInterlaced
        let isPartial = frame.width < width || frame.height < height
        facts.hasAlpha = frame.transparent != nil || isPartial
        return facts
    }
}
