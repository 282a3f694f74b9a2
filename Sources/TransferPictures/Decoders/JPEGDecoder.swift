internal import CTurboJPEG
internal import Glibc

/// Decodes a JPEG with libjpeg-turbo at N/8 of the picture's size, which skips most of the work and memory (libjpeg.txt, "scale_num").
struct JPEGDecoder {
    private let bytes: UnsafeRawBufferPointer
    private let header: JPEGHeader

    /// - Parameters:
    ///   - bytes: the whole file, for as long as the decoder is used.
    ///   - header: of this file.
    init(_ bytes: UnsafeRawBufferPointer, _ header: JPEGHeader) {
        (self.bytes, self.header) = (bytes, header)
    }

    /// Decodes the first image.
    ///
    /// - Parameter smallest: size that the result has at least, up to that of the picture.
    /// - Returns: the picture, and whether the decoder found no damage. Damaged places are gray or distorted.
    /// - Throws: `damaged` if the decoder gives up, `tooLarge` if it has too little memory.
    func decode(atLeast smallest: (width: Int, height: Int)) throws(PictureFault) -> (raster: Raster, isWhole: Bool) {
        guard let decoder = tjInitDecompress() else { throw .tooLarge("There is too little memory for the JPEG.") }
        defer { tjDestroy(decoder) }
        let size = scaled(atLeast: smallest)
        var raster = Raster(width: size.width, height: size.height)
        // TJFLAG_LIMITSCANS ends the work on progressive pictures with more than 500 scans, in case that the header's
        // reader has counted fewer of them.
        let status = raster.pixels.withUnsafeMutableBytes { pixels in
            tjDecompress2(
                decoder, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count),
                pixels.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(size.width), Int32(size.width * 4),
                Int32(size.height), Int32(isCMYK ? TJPF_CMYK.rawValue : TJPF_RGBA.rawValue), TJFLAG_LIMITSCANS)
        }
        guard status == 0 || tjGetErrorCode(decoder) == Int32(TJERR_WARNING.rawValue) else {
            // The decoder has no code for this, only a text (jerror.h, JERR_OUT_OF_MEMORY).
            if let reason = tjGetErrorStr2(decoder), strstr(reason, "Insufficient memory") != nil {
                throw .tooLarge("There is too little memory for the JPEG.")
            }
            throw .damaged("The JPEG's pixels are damaged.")
        }
        if isCMYK { convertInk(&raster) }
        return (raster, status == 0)
    }

    private var isCMYK: Bool { header.components == 4 }

    /// Size at the smallest scale of N/8 that suffices. libjpeg rounds up.
    private func scaled(atLeast smallest: (width: Int, height: Int)) -> (width: Int, height: Int) {
        for eighths in 1..<8 {
            let (width, height) = ((header.width * eighths + 7) / 8, (header.height * eighths + 7) / 8)
            if width >= smallest.width, height >= smallest.height { return (width, height) }
        }
        return (header.width, header.height)
    }

    /// Converts ink to light without a profile: each ink takes its part of the light away. Adobe's programs store ink
    /// inverted, and that is what their marker shows.
    private func convertInk(_ raster: inout Raster) {
        let mask: UInt8 = header.hasAdobeMarker ? 0 : 255
        for index in raster.pixels.indices {
            let light = SIMD4<UInt16>(truncatingIfNeeded: raster.pixels[index] ^ Pixel(repeating: mask))
            // Rounded division by 255; the product is at most 65,025.
            let product = light &* light.w &+ 127
            let colour = product / 255
            raster.pixels[index] = Pixel(UInt8(colour.x), UInt8(colour.y), UInt8(colour.z), 255)
        }
    }
}
