package import TransferModel

/// The container and coding of a picture or video.
package enum PictureFormat: UInt8, Sendable, CaseIterable {
    case jpeg, png, gif, webp
    /// HEIF with pictures that are coded by HEVC (ISO/IEC 23008-12), or by a coding that its brands do not name.
    case heif
    /// HEIF with pictures that are coded by AV1.
    case avif
    /// MPEG-4 and its relatives (ISO/IEC 14496-12).
    case mp4
    /// Apple's QuickTime file format, from which MPEG-4 is derived.
    case quickTime
}

/// When a picture was taken.
package struct TakenTime: Equatable, Sendable {
    /// Local time at the camera, or UTC if `offset` is 0.
    package let calendar: CalendarTime
    /// Nanoseconds of the second, 0 to 999,999,999.
    package let nanoseconds: UInt32
    /// Minutes that local time is ahead of UTC; nil if the file does not say it.
    package let offset: Int?

    package init(calendar: CalendarTime, nanoseconds: UInt32 = 0, offset: Int? = nil) {
        (self.calendar, self.nanoseconds, self.offset) = (calendar, nanoseconds, offset)
    }

    /// Local time as in ISO 8601, without offset and decimals: `2026-01-31T18:30:05`.
    package var text: String {
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = "\(digits(calendar.year, 4))-\(digits(calendar.month, 2))-\(digits(calendar.day, 2))"
        return day + "T\(digits(calendar.hour, 2)):\(digits(calendar.minute, 2)):\(digits(calendar.second, 2))"
    }
}

/// What the headers of a picture or video say about it. Everything in it comes from the file and may be false.
package struct PictureFacts: Equatable, Sendable {
    package var format: PictureFormat
    /// Pixels in a row as stored, before `orientation` is applied; at least 1.
    package var width: Int
    /// Rows as stored, before `orientation` is applied; at least 1.
    package var height: Int
    package var orientation = Orientation.upright
    package var taken: TakenTime?
    /// Whether the file says where the picture was taken.
    package var hasLocation = false
    /// Offset of the GPS directory in the file, if EXIF data have one.
    package var locationOffset: Int?
    /// Maker and model, 1 to 128 printable characters.
    package var camera: String?
    /// The embedded colour profile (ICC.1), unverified; nil if the file has no profile or it has more than
    /// `PictureLimits.profileSize` bytes.
    package var icc: [UInt8]?
    /// Whether it is stored so that all of it is in memory while it is decoded: a progressive JPEG or one with
    /// several scans, or an interlaced PNG or GIF.
    package var isProgressive = false
    package var hasAlpha = false
    package var isAnimated = false

    package init(format: PictureFormat, width: Int, height: Int) {
        (self.format, self.width, self.height) = (format, width, height)
    }

    /// Size as shown, after `orientation` is applied.
    package var shownSize: (width: Int, height: Int) {
        orientation.isTransposed ? (height, width) : (width, height)
    }
}

/// Why there are no facts or there is no thumbnail.
package struct PictureFault: Error, Equatable, Sendable {
    package enum Code: UInt8, Sendable {
        /// The content has none of the known formats.
        case notPicture
        /// The format is known, but a part of it cannot be decoded here.
        case unsupported
        /// A limit of `PictureLimits` is exceeded.
        case tooLarge
        /// The content breaks the format's rules, and no pixel could be decoded.
        case damaged
    }

    package let code: Code
    /// A sentence for people, without text from the picture.
    package let message: String

    static let notPicture = PictureFault(code: .notPicture, message: "The content is not a picture.")

    static func unsupported(_ message: String) -> PictureFault { PictureFault(code: .unsupported, message: message) }

    static func tooLarge(_ message: String) -> PictureFault { PictureFault(code: .tooLarge, message: message) }

    static func damaged(_ message: String) -> PictureFault { PictureFault(code: .damaged, message: message) }
}

/// The largest pictures that are decoded. The header is compared with them before memory is allocated.
package enum PictureLimits {
    /// Bytes of a file. Camera pictures have less than 200 MB; the limit bounds the time for reading.
    package static let fileSize = 512 << 20

    /// Pixels in a row, and rows. JPEG allows 65,535; libjpeg allows 65,500 (jmorecfg.h, JPEG_MAX_DIMENSION).
    package static let side = 65_500

    /// Pixels of a JPEG that is decoded row by row. Stitched panoramas have up to some 200 million.
    package static let baselinePixels = 250_000_000

    /// Pixels of every other picture. A progressive JPEG of this size needs 300 MB while it is decoded, a lossless
    /// WebP 400 MB.
    package static let pixels = 100_000_000

    /// Pixels of a HEIC or AVIF. Phones make up to 48.8 million, which need 300 MB while they are decoded.
    package static let heifPixels = 50_000_000

    /// Bytes of a PNG's rows: 100 million pixels with 4 bytes. To inflate them takes some 3 s, more than anything else.
    package static let inflatedSize = 400_000_000

    /// Scans of a progressive JPEG. Encoders make about 10; a scan costs time even if it is empty.
    package static let scans = 100

    /// Pixels times scans of a JPEG, for the same reason: 100 million pixels with 25 scans.
    package static let scannedPixels = 2_500_000_000

    /// Bytes of a colour profile. Apple's Display P3 has 536, Adobe RGB 560, sRGB by HP 3,144.
    package static let profileSize = 4 << 10

    /// Bytes of a thumbnail's file. A preview of 1,280 pixels has some 160 KB.
    package static let thumbnailSize = 512 << 10

    /// Bytes of EXIF data. JPEG allows 64 KiB for them; other containers have no limit.
    static let exifSize = 256 << 10

    /// Checks the size that a header declares.
    ///
    /// - Throws: `damaged` for an empty picture, `tooLarge` beyond a limit.
    static func check(width: Int, height: Int, pixels most: Int) throws(PictureFault) {
        guard width > 0, height > 0 else { throw .damaged("The picture has no pixels.") }
        guard width <= side, height <= side else {
            throw .tooLarge("The picture has \(width) x \(height) pixels; a side may have \(side).")
        }
        guard width * height <= most else {
            throw .tooLarge("The picture has \(width) x \(height) pixels, more than \(most).")
        }
    }
}
