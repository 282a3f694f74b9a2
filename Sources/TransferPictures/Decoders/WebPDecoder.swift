internal import CWebP

/// Decodes the still picture or the first frame of a WebP with libwebp, which scales the rows while they come.
struct WebPDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let header: WebPHeader

    /// - Parameters:
    ///   - bytes: the whole file, for as long as the decoder is used.
    ///   - header: of this file.
    init(_ bytes: UnsafeRawBufferPointer, _ header: WebPHeader) {
        (self.bytes, self.header) = (bytes, header)
    }

    /// Decodes to this size, which is not larger than the picture. Missing rows are transparent.
    ///
    /// - Returns: the picture, and whether no row is missing.
    /// - Throws: `damaged` if there is no row, `tooLarge` if there is too little memory.
    func decode(to size: (width: Int, height: Int)) throws(PictureFault) -> (raster: Raster, isWhole: Bool) {
        guard header.isAnimated else {
            return try Self.decode(bytes, declared: (header.width, header.height), to: size)
        }
        guard let frame = header.firstFrame, frame.left + frame.width <= header.width,
            frame.top + frame.height <= header.height
        else { throw .damaged("The WebP has no frame inside its canvas.") }
        // Edges are rounded alike, so that the frame stays inside the canvas.
        func x(_ value: Int) -> Int { value * size.width / header.width }
        func y(_ value: Int) -> Int { value * size.height / header.height }
        let place = (x: x(frame.left), y: y(frame.top))
        let part = (
            width: min(max(1, x(frame.left + frame.width) - place.x), frame.width),
            height: min(max(1, y(frame.top + frame.height) - place.y), frame.height)
        )
        let decoded = try Self.decode(
            UnsafeRawBufferPointer(rebasing: bytes[frame.data]), declared: (frame.width, frame.height), to: part)
        var canvas = Raster(width: size.width, height: size.height)
        for row in 0..<min(part.height, size.height - place.y) {
            for column in 0..<min(part.width, size.width - place.x) {
                canvas.pixels[(place.y + row) * size.width + place.x + column] =
                    decoded.raster.pixels[row * part.width + column]
            }
        }
        return (canvas, decoded.isWhole)
    }

    /// Decodes the chunks of one picture, with or without the header of the file.
    private static func decode(
        _ data: UnsafeRawBufferPointer, declared: (width: Int, height: Int), to size: (width: Int, height: Int)
    ) throws(PictureFault) -> (raster: Raster, isWhole: Bool) {
        let start = data.baseAddress?.assumingMemoryBound(to: UInt8.self)
        // The limits were checked for the sizes in the headers that this module has read.
        var features = WebPBitstreamFeatures()
        guard WebPGetFeatures(start, data.count, &features) == VP8_STATUS_OK, Int(features.width) == declared.width,
            Int(features.height) == declared.height
        else { throw .damaged("The WebP's pixels are damaged.") }
        var raster = Raster(width: size.width, height: size.height)
        let rows = raster.pixels.withUnsafeMutableBytes { pixels in
            cwebp_decode(
                start, data.count, Int32(size.width), Int32(size.height),
                pixels.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
        guard rows != -2 else { throw .tooLarge("There is too little memory for the WebP.") }
        guard rows > 0 else { throw .damaged("The WebP's pixels are damaged.") }
        return (raster, Int(rows) == size.height)
    }
}
