internal import TransferModel

/// What the `moov` box of a video says (ISO/IEC 14496-12, section 8; QuickTime File Format Specification).
struct MovieHeader {
    private(set) var width = 0
    private(set) var height = 0
    private(set) var orientation = Orientation.upright
    private(set) var taken: TakenTime?
    private(set) var hasLocation = false
    private(set) var make = ""
    private(set) var model = ""

    /// Tracks that are read. Videos have up to some 10, for sound, text and metadata.
    private static let mostTracks = 64

    /// Keys of metadata that are read. Apple writes some 10.
    private static let mostKeys = 256

    /// Bytes of a metadata value that are read.
    private static let longestValue = 128

    /// Seconds from 1904-01-01, from which these times count, to 1970-01-01.
    private static let epoch = 2_082_844_800

    /// - Throws: `damaged` if no track has a picture.
    init(_ movie: MediaBox, _ source: some PictureSource) throws(PictureFault) {
        let boxes = movie.boxes(source)
        if let header = boxes.first("mvhd") { taken = Self.time(source.window(at: header.body.lowerBound, count: 12)) }
        for track in boxes.filter({ $0.name == "trak" }).prefix(Self.mostTracks) {
            if let header = track.boxes(source).first("tkhd") {
                readTrack(source.window(at: header.body.lowerBound, count: min(header.body.count, 96)))
            }
        }
        guard width > 0, height > 0 else { throw .damaged("The video has no picture.") }
        if let user = boxes.first("udta")?.boxes(source) {
            // The first character, a copyright sign in Latin-1, is no UTF-8. 3GPP has a location in `loci`.
            hasLocation = user.contains { $0.name == "\u{FFFD}xyz" || $0.name == "loci" }
            if let meta = user.first("meta") { readKeys(meta, source) }
        }
        if let meta = boxes.first("meta") { readKeys(meta, source) }
    }

    /// When the video was made, in UTC; zero if the camera did not know it.
    private static func time(_ window: Window) -> TakenTime? {
        let seconds = window[0] == 1 ? window.long(at: 4) : window.integer(at: 4, bytes: 4)
        guard let seconds, seconds > epoch else { return nil }
        let time = UTCTime(clamping: Int64(seconds - epoch))
        return TakenTime(calendar: CalendarTime(secondsSince1970: time.seconds), offset: 0)
    }

    /// Takes over the size and matrix of the largest track (section 8.3.2).
    private mutating func readTrack(_ window: Window) {
        // In version 1, two times and the duration have 8 bytes instead of 4.
        let start = (window[0] == 1 ? 32 : 20) + 4
        guard let width = window.integer(at: start + 52, bytes: 4),
            let height = window.integer(at: start + 56, bytes: 4),
            let a = window.integer(at: start + 16, bytes: 4), let b = window.integer(at: start + 20, bytes: 4),
            let c = window.integer(at: start + 28, bytes: 4), let d = window.integer(at: start + 32, bytes: 4)
        else { return }
        // Sizes are fixed-point numbers with 16 bits of fraction.
        guard (width >> 16) * (height >> 16) > self.width * self.height else { return }
        (self.width, self.height) = (width >> 16, height >> 16)
        orientation = Self.orientation([a, b, c, d])
    }

    /// Orientation by the upper left part of a matrix, whose numbers have 16 bits of fraction; -1 is 0xFFFF0000.
    private static func orientation(_ matrix: [Int]) -> Orientation {
        let (one, minus) = (0x1_0000, 0xFFFF_0000)
        switch matrix {
        case [minus, 0, 0, one]: return .mirrored
        case [minus, 0, 0, minus]: return .upsideDown
        case [one, 0, 0, minus]: return .flipped
        case [0, one, one, 0]: return .transposed
        case [0, one, minus, 0]: return .right
        case [0, minus, minus, 0]: return .transversed
        case [0, minus, one, 0]: return .left
        default: return .upright
        }
    }

    /// Reads metadata with keys by name (QuickTime File Format Specification, "Metadata").
    private mutating func readKeys(_ meta: MediaBox, _ source: some PictureSource) {
        // QuickTime has a plain box here, MPEG-4 a full box.
        let plain = meta.boxes(source)
        let boxes = plain.first("keys") == nil ? meta.boxes(source, skipping: 4) : plain
        guard let keys = boxes.first("keys").map({ Self.names($0.window(source)) }), let list = boxes.first("ilst")
        else {
            return
        }
        for item in list.boxes(source).prefix(Self.mostKeys) {
            // The four bytes of the name are the number of the key, from 1.
            guard let number = source.window(at: item.header, count: 8).integer(at: 4, bytes: 4),
                keys.indices.contains(number - 1), let data = item.boxes(source).first("data")
            else { continue }
            // Type and language of the value come first.
            let value = source.read(
                at: data.body.lowerBound + 8, count: min(max(0, data.body.count - 8), Self.longestValue))
            read(keys[number - 1], String(printable: value))
        }
    }

    private static func names(_ window: Window) -> [String] {
        guard let count = window.integer(at: 4, bytes: 4) else { return [] }
        var names: [String] = []
        var offset = 8
        for _ in 0..<min(count, mostKeys) {
            guard let size = window.integer(at: offset, bytes: 4), size >= 8,
                let name = window.slice(at: offset + 8, count: size - 8)
            else { break }
            names.append(String(printable: name))
            offset += size
        }
        return names
    }

    private mutating func read(_ key: String, _ value: String) {
        switch key {
        case "com.apple.quicktime.creationdate": taken = Self.time(value) ?? taken
        case "com.apple.quicktime.make": make = value
        case "com.apple.quicktime.model": model = value
        case _ where key.hasPrefix("com.apple.quicktime.location."): hasLocation = true
        default: break
        }
    }

    /// Reads a time such as `2026-01-31T18:30:05+0200`; nil for another text.
    private static func time(_ text: String) -> TakenTime? {
        let bytes = Array(text.utf8)
        guard bytes.count > 19, let time = WrittenTime(String(decoding: bytes[..<19], as: UTF8.self)) else {
            return nil
        }
        return TakenTime(calendar: time.calendar, offset: TakenTime.offset(bytes[19...]))
    }

    /// The facts for a file with this format.
    func facts(_ format: PictureFormat) -> PictureFacts {
        var facts = PictureFacts(format: format, width: width, height: height)
        (facts.orientation, facts.taken, facts.hasLocation) = (orientation, taken, hasLocation)
        facts.camera = Exif.camera(make: make, model: model)
        facts.isAnimated = true
        return facts
    }
}
