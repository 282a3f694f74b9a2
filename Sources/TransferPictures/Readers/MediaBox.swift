/// A box of the ISO base media file format (ISO/IEC 14496-12, section 4.2), or an atom of QuickTime.
///
/// Readers go down into boxes that they know by name, so the depth is that of their code, and no box is entered twice.
struct MediaBox {
    /// Four characters. Apple begins some names with a copyright sign in Latin-1, which is read as U+FFFD.
    let name: String
    /// Offset of the box in the file.
    let header: Int
    /// Range of the content in the file, which ends with the enclosing box at the latest.
    let body: Range<Int>

    /// Boxes of one parent that are read. Fragmented movies have thousands, but what is read here comes first.
    private static let mostBoxes = 1024

    /// Bytes of a box that is read as a whole.
    static let largestTable = 1 << 20

    /// - Returns: nil if no header of a box is there, or the box is smaller than its header.
    private init?(_ source: some PictureSource, at offset: Int, end: Int) {
        guard end - offset >= 8 else { return nil }
        let window = source.window(at: offset, count: 16)
        guard let short = window.integer(at: 0, bytes: 4), let name = window.slice(at: 4, count: 4) else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
        header = offset
        switch short {
        // The box extends to the end of the file; here, of the enclosing box.
        case 0: body = offset + 8..<end
        case 1:
            guard let long = window.long(at: 8), long >= 16, end - offset >= 16 else { return nil }
            body = offset + 16..<offset + min(long, end - offset)
        default:
            guard short >= 8 else { return nil }
            body = offset + 8..<offset + min(short, end - offset)
        }
    }

    /// Boxes in a range of the file, in order.
    static func boxes(_ source: some PictureSource, in range: Range<Int>) -> [MediaBox] {
        var boxes: [MediaBox] = []
        var offset = range.lowerBound
        while boxes.count < mostBoxes, let box = MediaBox(source, at: offset, end: range.upperBound) {
            boxes.append(box)
            offset = box.body.upperBound
        }
        return boxes
    }

    /// Boxes inside, behind `skipping` bytes of the body.
    func boxes(_ source: some PictureSource, skipping: Int = 0) -> [MediaBox] {
        guard body.count >= skipping else { return [] }
        return Self.boxes(source, in: body.lowerBound + skipping..<body.upperBound)
    }

    /// The body, or as much of it as a table may have.
    func window(_ source: some PictureSource) -> Window {
        source.window(at: body.lowerBound, count: min(body.count, Self.largestTable))
    }
}

extension [MediaBox] {
    func first(_ name: String) -> MediaBox? { first { $0.name == name } }
}

/// The brands of a file (ISO/IEC 14496-12, section 4.3).
struct MediaBrands {
    private let brands: [String]

    /// Brands that are read besides the major one.
    private static let mostBrands = 64

    /// - Parameter window: the body of `ftyp`.
    init(_ window: Window) {
        // The four bytes behind the major brand are its version.
        brands = ([0] + (2..<2 + Self.mostBrands)).compactMap { index in
            window.slice(at: index * 4, count: 4).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The format by its major brand, or by the others if that one is general.
    var format: PictureFormat {
        for brand in brands {
            switch brand {
            case "avif", "avis": return .avif
            case "heic", "heix", "heim", "heis", "hevc", "hevx": return .heif
            case "qt  ": return .quickTime
            default: continue
            }
        }
        return brands.contains { $0 == "mif1" || $0 == "msf1" || $0 == "mif2" } ? .heif : .mp4
    }
}
