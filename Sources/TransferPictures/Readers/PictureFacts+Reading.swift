internal import TransferModel

extension PictureFacts {
    /// Reads the headers of a picture or video; pixels are not decoded. The memory needed does not depend on the file.
    ///
    /// - Throws: `notPicture` for other content, `unsupported` for a coding that is not decoded here, `damaged` if the
    ///   headers name no size.
    package init(reading source: some PictureSource) throws(PictureFault) {
        switch PictureFormat(recognising: source) {
        case .jpeg: self = try JPEGHeader(source).facts
        case .png: self = try PNGHeader(source).facts
        case .gif: self = try GIFHeader(source).facts
        case .webp: self = try WebPHeader(source).facts
        case .heif, .avif, .mp4, .quickTime: self = try Self.readingBoxes(source)
        case nil: throw .unknownFormat(source)
        }
    }

    private static func readingBoxes(_ source: some PictureSource) throws(PictureFault) -> PictureFacts {
        let boxes = MediaBox.boxes(source, in: 0..<source.size)
        // QuickTime files of the first years have no brands.
        let format = boxes.first("ftyp").map { MediaBrands($0.window(source)).format } ?? .quickTime
        switch format {
        case .heif, .avif: return try HEIFHeader(boxes, source).facts(format)
        default:
            guard let movie = boxes.first("moov") else { throw .damaged("The video has no header.") }
            return try MovieHeader(movie, source).facts(format)
        }
    }
}

extension PictureFault {
    /// The fault of content that is no picture, or one in a format that is not read here, such as TIFF.
    static func unknownFormat(_ source: some PictureSource) -> PictureFault {
        let window = source.window(at: 0, count: PictureFormat.sampleSize)
        let format = window.bytes.withUnsafeBytes { ContentFormat(recognising: $0, isWhole: false) }
        return format.kind == .picture ? .unsupported("There are no thumbnails of this format.") : .notPicture
    }
}

extension PictureFormat {
    /// Recognises content by its first bytes; nil for content that is no picture and no video.
    init?(recognising source: some PictureSource) {
        let window = source.window(at: 0, count: Self.sampleSize)
        switch window.bytes.withUnsafeBytes({ ContentFormat(recognising: $0, isWhole: false) }) {
        case .jpeg: self = .jpeg
        case .png: self = .png
        case .gif: self = .gif
        case .webp: self = .webp
        case .m4a: return nil
        // Videos have many brands, and pictures have them in any order, so all brands are looked at.
        case _ where window.has("ftyp", at: 4):
            let end = min(window.integer(at: 0, bytes: 4) ?? 0, window.count)
            self = MediaBrands(Window(Array(window.bytes[..<end].dropFirst(8)))).format
        case _ where window.has("moov", at: 4) || window.has("wide", at: 4): self = .quickTime
        default: return nil
        }
    }

    /// Bytes at the beginning by which formats are recognised. Files have some 10 brands of 4 bytes.
    fileprivate static let sampleSize = 256
}
