/// The primary picture of a HEIF file (ISO/IEC 23008-12) as its `meta` box describes it.
struct HEIFHeader {
    private(set) var width = 0
    private(set) var height = 0
    private(set) var orientation = Orientation.upright
    private(set) var icc: [UInt8]?
    private(set) var hasAlpha = false
    private(set) var exif: Exif?
    private(set) var hasLocationInXMP = false
    /// Metadata, and coded pictures and tiles.
    let items: HEIFItems

    /// Entries of a table that are read.
    private static let mostEntries = 4096

    /// Size of version and flags at the beginning of a full box (ISO/IEC 14496-12, section 4.2).
    private static let fullBox = 4

    /// Reads the header of a whole file.
    init(_ source: some PictureSource) throws(PictureFault) {
        try self.init(MediaBox.boxes(source, in: 0..<source.size), source)
    }

    /// - Parameter file: the boxes of the file.
    /// - Throws: `damaged` if there is no header, or the primary picture has no size.
    init(_ file: [MediaBox], _ source: some PictureSource) throws(PictureFault) {
        guard let meta = file.first("meta") else { throw .damaged("The picture has no header.") }
        let boxes = meta.boxes(source, skipping: Self.fullBox)
        items = HEIFItems(boxes, source)
        let primary = boxes.first("pitm").flatMap { Self.primary($0.window(source)) }
        let properties = boxes.first("iprp")?.boxes(source) ?? []
        let known = properties.first("ipco")?.boxes(source) ?? []
        for box in properties where box.name == "ipma" {
            for index in Self.associations(box.window(source), primary) where known.indices.contains(index - 1) {
                read(known[index - 1], source)
            }
        }
        // The alpha channel is stored as a separate image, whose property `auxC` names it (section 6.5.8).
        hasAlpha = known.contains { $0.name == "auxC" && $0.window(source).contains("alpha") }
        guard width > 0, height > 0 else { throw .damaged("The picture has no size.") }
        readMetadata(source)
    }

    /// Number of the primary item.
    private static func primary(_ window: Window) -> Int? {
        window.integer(at: fullBox, bytes: window[0] == 0 ? 2 : 4)
    }

    /// Numbers of the properties of an item, from 1, in the order in which they apply (section 9.3).
    private static func associations(_ window: Window, _ item: Int?) -> [Int] {
        guard let version = window[0], let flags = window[3], let count = window.integer(at: 4, bytes: 4) else {
            return []
        }
        let (numberSize, indexSize) = (version < 1 ? 2 : 4, flags & 1 == 1 ? 2 : 1)
        var offset = 8
        for _ in 0..<min(count, mostEntries) {
            guard let number = window.integer(at: offset, bytes: numberSize), let count = window[offset + numberSize]
            else { break }
            offset += numberSize + 1
            if number == item {
                return (0..<Int(count)).compactMap { position in
                    // The highest bit says that the property is essential.
                    window.integer(at: offset + position * indexSize, bytes: indexSize).map {
                        $0 & (indexSize == 2 ? 0x7FFF : 0x7F)
                    }
                }
            }
            offset += Int(count) * indexSize
        }
        return []
    }

    private mutating func read(_ property: MediaBox, _ source: some PictureSource) {
        let window = source.window(at: property.body.lowerBound, count: min(property.body.count, 12))
        switch property.name {
        case "ispe":
            width = window.integer(at: 4, bytes: 4) ?? 0
            height = window.integer(at: 8, bytes: 4) ?? 0
        case "irot":
            // Quarters of a turn, counterclockwise (section 6.5.10).
            let turns: [Orientation] = [.upright, .left, .upsideDown, .right]
            orientation = orientation.followed(by: turns[Int((window[0] ?? 0) & 3)])
        case "imir":
            // 0 exchanges top and bottom, 1 left and right (section 6.5.12).
            orientation = orientation.followed(by: (window[0] ?? 0) & 1 == 0 ? .flipped : .mirrored)
        case "colr":
            guard window.has("prof", at: 0) || window.has("rICC", at: 0),
                property.body.count <= PictureLimits.profileSize + 4
            else { return }
            icc = source.exactly(at: property.body.lowerBound + 4, count: property.body.count - 4)?.bytes
        default: break
        }
    }

    /// Reads the metadata among the items. The orientation in EXIF does not count: the properties have applied it.
    private mutating func readMetadata(_ source: some PictureSource) {
        for item in items.all {
            guard let place = item.places?.first, item.places?.count == 1 else { continue }
            let content = source.window(at: place.lowerBound, count: min(place.count, PictureLimits.exifSize))
            switch item.kind {
            case .exif: readExif(content, at: place.lowerBound)
            case .xmp: hasLocationInXMP = hasLocationInXMP || content.hasLocationInXMP
            case .hevc, .av1: break
            }
        }
    }

    private mutating func readExif(_ content: Window, at offset: Int) {
        // Bytes between the offset itself and the TIFF header (annex A.2.1).
        guard exif == nil, let skipped = content.integer(at: 0, bytes: 4), skipped <= content.count - 4 else { return }
        exif = Exif(Window(Array(content.bytes.dropFirst(4 + skipped))), at: offset + 4 + skipped)
    }

    /// The facts for a file with this format.
    func facts(_ format: PictureFormat) -> PictureFacts {
        var facts = PictureFacts(format: format, width: width, height: height)
        facts.add(exif)
        facts.hasLocation = facts.hasLocation || hasLocationInXMP
        (facts.orientation, facts.icc, facts.hasAlpha) = (orientation, icc, hasAlpha)
        return facts
    }
}
