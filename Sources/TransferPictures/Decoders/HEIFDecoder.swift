internal import CHEIF
internal import Glibc

/// libheif, a shared library that is opened at run time. It decodes HEIC and AVIF by codecs that start threads.
package struct HEIFLibrary {
    private let functions: cheif_library

    /// Opens the library at `path`, found as dlopen(3) does.
    ///
    /// - Returns: nil if it is not installed or not usable.
    package init?(path: String = "libheif.so.1") {
        var functions = cheif_library()
        guard cheif_open(path, &functions) else { return nil }
        self.functions = functions
    }

    /// Gives the threads that this process will start little memory, so that a limit of the process suffices for them.
    package static func limitThreads() { cheif_limit_threads() }

    /// Bytes of a file that `isNeeded` looks at.
    private static let sampleSize = 12

    /// Whether a file may be one that the library decodes, by the name of the first box (ISO/IEC 14496-12, section 4.3).
    package static func isNeeded(for bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= sampleSize && bytes[4..<8].elementsEqual("ftyp".utf8)
    }

    /// Decodes the primary picture as it is shown: turned, mirrored and cut as the file says.
    ///
    /// - Parameter side: most pixels of the longer side of the result.
    /// - Returns: the picture, its size before it was made smaller, and whether the library found no damage.
    /// - Throws: `damaged`, `unsupported` if the library has no decoder for it, `tooLarge` if there is too little memory.
    func decode(
        _ bytes: UnsafeRawBufferPointer, side: Int
    ) throws(PictureFault) -> (raster: Raster, width: Int, height: Int, isWhole: Bool) {
        var (functions, picture) = (functions, cheif_picture())
        let outcome = cheif_decode(&functions, bytes.baseAddress, bytes.count, Int32(PictureLimits.side), &picture)
        switch outcome {
        case cheif_whole, cheif_partial: break
        case cheif_unsupported: throw .unsupported("libheif has no decoder for this picture.")
        case cheif_no_memory: throw .tooLarge("There is too little memory for the picture.")
        default: throw .damaged("The picture's pixels are damaged.")
        }
        defer { cheif_release(&functions, &picture) }
        let (width, height, stride) = (Int(picture.width), Int(picture.height), Int(picture.stride))
        let bytesPerPixel = picture.has_alpha ? 4 : 3
        guard let pixels = picture.pixels, stride >= width * bytesPerPixel else {
            throw .damaged("The picture has no pixels.")
        }
        try PictureLimits.check(width: width, height: height, pixels: PictureLimits.heifPixels)
        var scaler = AreaScaler(
            width: width, height: height, to: Raster.size(fitting: width, height, side: side),
            rows: picture.has_alpha ? .inOrder : [.inOrder, .opaque], keepsAlpha: picture.has_alpha)
        var row = [Pixel](repeating: Pixel(0, 0, 0, 255), count: width)
        for y in 0..<height {
            var next = pixels + y * stride
            for x in 0..<width {
                row[x] = Pixel(next[0], next[1], next[2], picture.has_alpha ? next[3] : 255)
                next += bytesPerPixel
            }
            row.withUnsafeBufferPointer { scaler.add($0, at: y) }
        }
        return (scaler.finish(), width, height, outcome == cheif_whole)
    }
}
