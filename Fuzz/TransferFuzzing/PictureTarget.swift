import TransferCodec
import TransferPictures

/// Input: task (1 byte, see `Task`), then a picture, EXIF data, or the header of a PNG with rows that are not deflated.
enum PictureTarget {
    private enum Task: UInt8 {
        /// The rest is a picture or video.
        case file
        /// The rest is a PNG's colour type, depth, interlacing, width and height (5 bytes), then its rows: hardly any
        /// other stream of a fuzzer would be inflated.
        case rows
        /// The rest is EXIF data, which are put into a JPEG.
        case exif
        /// The rest are boxes, which follow those that name the format.
        case boxes
    }

    /// Pixels of a picture that is decoded: more would take long and not find more faults.
    private static let mostPixels = 1 << 20

    /// Sides of thumbnails, the smallest and the usual one.
    private static let sides = [16, 320]

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let first = input.byte()
        switch Task(rawValue: first % 4) ?? .file {
        case .file: try look(input.rest())
        case .rows: try look(png(&input))
        case .exif: try look(jpeg(exif: input.rest()))
        case .boxes:
            let brand = ["heic", "avif", "mp42", "qt  "][Int(first / 4 % 4)]
            try look(chunk("ftyp", Array(brand.utf8) + [0, 0, 0, 0], isBox: true) + input.rest())
        }
    }

    /// The facts keep their promises, and a thumbnail says what its picture says.
    private static func look(_ file: [UInt8]) throws(Finding) {
        let facts = file.withUnsafeBytes { bytes in
            Result { () throws(PictureFault) in try PictureFacts(reading: MemorySource(bytes)) }
        }
        switch facts {
        case .failure(let fault): try require(shown: fault.message)
        case .success(let facts): try check(facts, file.count)
        }
        if let facts = try? facts.get(), facts.width > mostPixels / facts.height { return }
        for side in sides {
            let thumbnail = file.withUnsafeBytes { bytes in
                Result { () throws(PictureFault) in try Thumbnail.make(from: bytes, side: side) }
            }
            switch thumbnail {
            case .failure(let fault): try require(shown: fault.message)
            case .success(let thumbnail):
                try require((try? facts.get()) == thumbnail.facts, "A thumbnail has other facts.")
                try check(thumbnail, side)
            }
        }
    }

    private static func check(_ facts: PictureFacts, _ size: Int) throws(Finding) {
        try require(facts.width > 0 && facts.height > 0, "A picture has no pixels.")
        try require(shown: facts.camera ?? "")
        try require(facts.camera.map { (1...129).contains($0.utf8.count) } ?? true, "The camera's name is too long.")
        try require(facts.icc.map { $0.count <= PictureLimits.profileSize } ?? true, "The profile is too long.")
        try require(facts.locationOffset.map { (0..<size).contains($0) } ?? true, "The location is elsewhere.")
        if let taken = facts.taken { try require(taken.text.utf8.count == 19, "The time is '\(taken.text)'.") }
    }

    /// The thumbnail's file is a WebP of the size that it claims, without metadata.
    private static func check(_ thumbnail: Thumbnail, _ side: Int) throws(Finding) {
        try require(
            (1...side).contains(thumbnail.width) && (1...side).contains(thumbnail.height), "A thumbnail is too large.")
        try require(thumbnail.webP.count <= PictureLimits.thumbnailSize, "A thumbnail has too many bytes.")
        let again = thumbnail.webP.withUnsafeBytes { bytes in
            Result { () throws(PictureFault) in try PictureFacts(reading: MemorySource(bytes)) }
        }
        guard case .success(let facts) = again else { throw Finding("A thumbnail is not read again.") }
        try require(
            facts.format == .webp && facts.width == thumbnail.width && facts.height == thumbnail.height,
            "A thumbnail's file has another size.")
        try require(
            facts.taken == nil && facts.camera == nil && facts.orientation == .upright && !facts.hasLocation,
            "A thumbnail has metadata.")
        try require(facts.icc == nil || facts.icc == thumbnail.facts.icc, "A thumbnail has another profile.")
    }

    private static func png(_ input: inout FuzzInput) -> [UInt8] {
        let (colour, depth, interlacing) = (input.byte(), input.byte(), input.byte())
        let (width, height) = (input.byte(), input.byte())
        let header: [UInt8] = [0, 0, 0, width, 0, 0, 0, height, colour % 7, 1 << (depth % 5), 0, 0, interlacing & 1]
        let rows = input.rest()
        var stream = [UInt8](repeating: 0, count: rows.count + rows.count / 8 + 1024)
        let count = rows.withUnsafeBytes { rows in
            stream.withUnsafeMutableBytes { Deflater(level: 1, engine: .zlib).deflate(rows, into: $0) }
        }
        let palette = (0..<48).map { UInt8($0 * 5) }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("PLTE", palette)
            + chunk("tRNS", Array(palette[..<6])) + chunk("IDAT", Array(stream[..<(count ?? 0)])) + chunk("IEND", [])
    }

    /// A chunk of a PNG without its CRC, which is not read, or a box of ISO/IEC 14496-12.
    private static func chunk(_ name: String, _ body: [UInt8], isBox: Bool = false) -> [UInt8] {
        let size = body.count + (isBox ? 8 : 0)
        let length = [size >> 24, size >> 16, size >> 8, size].map { UInt8(truncatingIfNeeded: $0) }
        return length + Array(name.utf8) + body + (isBox ? [] : [0, 0, 0, 0])
    }

    /// A JPEG with a frame and the beginning of a scan, by which its header is whole.
    private static func jpeg(exif: [UInt8]) -> [UInt8] {
        let body = Array("Exif\0\0".utf8) + exif.prefix(60_000)
        let size = body.count + 2
        let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
        return [0xFF, 0xD8, 0xFF, 0xE1, UInt8(size >> 8), UInt8(size & 0xFF)] + body + frame
    }
}
