/// A small picture of a picture, as a WebP without any metadata but a colour profile.
///
/// It is made in a process that lives for one picture and may do nothing but read it, because what a picture makes of
/// a decoder is not known. Its caller trusts no part of the result.
package struct Thumbnail: Equatable, Sendable {
    /// What the headers say about the picture.
    package let facts: PictureFacts
    /// Pixels as shown: the orientation is applied.
    package let width: Int
    package let height: Int
    /// Whether all pixels of the picture could be decoded. If not, the thumbnail shows the part that could be. Nil if
    /// this is not known.
    package let isWhole: Bool?
    /// For the place of the thumbnail until it is loaded.
    package let averageColour: AverageColour
    /// The file, at most `PictureLimits.thumbnailSize` bytes.
    package let webP: [UInt8]

    /// Lengths of a thumbnail's longer side that can be asked for, in pixels.
    package static let sides = 16...2048

    /// Makes a thumbnail. Time and memory are bounded by `PictureLimits`, whatever the bytes are.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - side: most pixels of the longer side, in `sides`. Smaller pictures keep their size. The side is halved if
    ///     the file is too large otherwise.
    ///   - library: for HEIC and AVIF; nil without one.
    /// - Throws: `notPicture`, `unsupported`, `tooLarge`, `damaged`.
    package static func make(
        from bytes: UnsafeRawBufferPointer, side: Int, by library: HEIFLibrary? = nil
    ) throws(PictureFault) -> Thumbnail {
        // Trap: the side is chosen by the program, not by the picture.
        precondition(sides.contains(side), "a thumbnail of \(side) pixels")
        guard bytes.count <= PictureLimits.fileSize else {
            throw .tooLarge("The picture has \(bytes.count) bytes, more than \(PictureLimits.fileSize).")
        }
        let source = MemorySource(bytes)
        switch PictureFormat(recognising: source) {
        case .jpeg: return try make(bytes, JPEGHeader(source), side)
        case .png: return try make(bytes, PNGHeader(source), side)
        case .gif: return try make(bytes, GIFHeader(source), side)
        case .webp: return try make(bytes, WebPHeader(source), side)
        case .heif: return try make(bytes, HEIFHeader(source), .heif, library, side)
        case .avif: return try make(bytes, HEIFHeader(source), .avif, library, side)
        case .mp4, .quickTime: throw .unsupported("There are no thumbnails of this format.")
        case nil: throw .unknownFormat(source)
        }
    }

    private static func make(
        _ bytes: UnsafeRawBufferPointer, _ header: JPEGHeader, _ side: Int
    ) throws(PictureFault) -> Thumbnail {
        let facts = header.facts
        let most = header.isProgressive ? PictureLimits.pixels : PictureLimits.baselinePixels
        try PictureLimits.check(width: facts.width, height: facts.height, pixels: most)
        if header.isProgressive {
            let scans = JPEGScans(bytes, from: header.scanOffset).count
            guard scans <= PictureLimits.scans, scans * facts.width * facts.height <= PictureLimits.scannedPixels else {
                throw .tooLarge("The JPEG has \(scans) scans.")
            }
        }
        let size = Raster.size(fitting: facts.width, facts.height, side: side)
        let decoded = try JPEGDecoder(bytes, header).decode(atLeast: size)
        var scaler = AreaScaler(
            width: decoded.raster.width, height: decoded.raster.height, to: size, rows: [.inOrder, .opaque],
            keepsAlpha: false)
        decoded.raster.pixels.withUnsafeBufferPointer { pixels in
            for y in 0..<decoded.raster.height {
                let start = y * decoded.raster.width
                scaler.add(UnsafeBufferPointer(rebasing: pixels[start..<start + decoded.raster.width]), at: y)
            }
        }
        return try Thumbnail(facts, scaler.finish(), isWhole: decoded.isWhole)
    }

    private static func make(
        _ bytes: UnsafeRawBufferPointer, _ header: PNGHeader, _ side: Int
    ) throws(PictureFault) -> Thumbnail {
        let facts = header.facts
        try PictureLimits.check(width: facts.width, height: facts.height, pixels: PictureLimits.pixels)
        guard header.inflatedSize <= PictureLimits.inflatedSize else {
            throw .tooLarge(
                "The PNG has \(header.inflatedSize) bytes of pixels, more than \(PictureLimits.inflatedSize).")
        }
        // The rows of an interlaced picture's passes have gaps, which are transparent until a later pass.
        let isOpaque = !facts.hasAlpha && !header.isInterlaced
        var rows: AreaScaler.Rows = isOpaque ? .opaque : []
        if !header.isInterlaced { rows.insert(.inOrder) }
        var decoder = try PNGDecoder(bytes, header)
        var scaler = AreaScaler(
            width: facts.width, height: facts.height,
            to: Raster.size(fitting: facts.width, facts.height, side: side), rows: rows, keepsAlpha: facts.hasAlpha)
        let isWhole = try decoder.decode(into: &scaler)
        return try Thumbnail(facts, scaler.finish(), isWhole: isWhole)
    }

    private static func make(
        _ bytes: UnsafeRawBufferPointer, _ header: GIFHeader, _ side: Int
    ) throws(PictureFault) -> Thumbnail {
        let facts = header.facts
        try PictureLimits.check(width: facts.width, height: facts.height, pixels: PictureLimits.pixels)
        var rows: AreaScaler.Rows = facts.hasAlpha ? [] : .opaque
        if !header.frame.isInterlaced { rows.insert(.inOrder) }
        var decoder = try GIFDecoder(bytes, header)
        var scaler = AreaScaler(
            width: facts.width, height: facts.height,
            to: Raster.size(fitting: facts.width, facts.height, side: side), rows: rows, keepsAlpha: facts.hasAlpha)
        let isWhole = try decoder.decode(into: &scaler)
        return try Thumbnail(facts, scaler.finish(), isWhole: isWhole)
    }

    private static func make(
        _ bytes: UnsafeRawBufferPointer, _ header: WebPHeader, _ side: Int
    ) throws(PictureFault) -> Thumbnail {
        let facts = header.facts
        try PictureLimits.check(width: facts.width, height: facts.height, pixels: PictureLimits.pixels)
        let size = Raster.size(fitting: facts.width, facts.height, side: side)
        let decoded = try WebPDecoder(bytes, header).decode(to: size)
        return try Thumbnail(facts, decoded.raster, isWhole: decoded.isWhole)
    }

    private static func make(
        _ bytes: UnsafeRawBufferPointer, _ header: HEIFHeader, _ format: PictureFormat, _ library: HEIFLibrary?,
        _ side: Int
    ) throws(PictureFault) -> Thumbnail {
        guard let library else { throw .unsupported("libheif is not installed.") }
        try PictureLimits.check(width: header.width, height: header.height, pixels: PictureLimits.heifPixels)
        let decoded = try library.decode(bytes, side: side)
        // The header can name another size than the coded picture has.
        var facts = header.facts(format)
        (facts.width, facts.height, facts.orientation) = (decoded.width, decoded.height, .upright)
        let isWhole = decoded.isWhole ? header.items.haveNoHole(bytes) : false
        return try Thumbnail(facts, shown: decoded.raster, isWhole: isWhole)
    }

    private init(_ facts: PictureFacts, _ raster: Raster, isWhole: Bool) throws(PictureFault) {
        try self.init(facts, shown: facts.orientation.applied(to: raster), isWhole: isWhole)
    }

    private init(_ facts: PictureFacts, shown: Raster, isWhole: Bool?) throws(PictureFault) {
        var shown = shown
        let profile = facts.icc.flatMap { ColourProfile.isRGB($0) ? $0 : nil }
        var file = try ThumbnailEncoder.encode(shown, profile: profile)
        // Noise of some million pixels fits at no quality, but a quarter of the pixels does.
        while file == nil {
            guard max(shown.width, shown.height) > 1 else { throw .tooLarge("The thumbnail is too large.") }
            shown = shown.halved
            file = try ThumbnailEncoder.encode(shown, profile: profile)
        }
        (self.facts, self.isWhole, webP) = (facts, isWhole, file ?? [])
        (width, height, averageColour) = (shown.width, shown.height, shown.averageColour)
    }
}

/// The average colour of a picture, in the colour space of the thumbnail's profile.
package struct AverageColour: Equatable, Sendable {
    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8
}

extension Raster {
    /// Red, green and blue of all pixels, weighted by alpha; black if all are transparent.
    fileprivate var averageColour: AverageColour {
        var sum = SIMD4<UInt64>()
        for pixel in pixels {
            let alpha = UInt64(pixel.w)
            sum &+= SIMD4<UInt64>(truncatingIfNeeded: pixel) &* SIMD4(alpha, alpha, alpha, 1)
        }
        // At most 2,048 * 2,048 pixels, so all sums are below 2^38.
        let weight = max(1, sum.w)
        return AverageColour(
            red: UInt8(clamping: sum.x / weight), green: UInt8(clamping: sum.y / weight),
            blue: UInt8(clamping: sum.z / weight))
    }
}
