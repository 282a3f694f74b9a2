/// The items of a HEIF file that are read here: coded pictures and their tiles, and metadata (ISO/IEC 14496-12, section 8.11).
struct HEIFItems {
    enum Kind: Equatable {
        case hevc, av1, exif, xmp
    }

    struct Item {
        let kind: Kind
        /// Where its bytes are in the file, in order; nil if that is not known.
        let places: [Range<Int>]?
    }

    private(set) var all: [Item] = []

    /// Bytes of each length between the units of HEVC, as the first configuration says (ISO/IEC 14496-15, section 8.3.3.1).
    private let lengthSize: Int

    /// Entries and pieces of tables that are read. A picture of a phone has some 50 tiles.
    private static let mostEntries = 4096

    /// Size of version and flags at the beginning of a full box (ISO/IEC 14496-12, section 4.2).
    private static let fullBox = 4

    /// - Parameter boxes: those in the box `meta`.
    init(_ boxes: [MediaBox], _ source: some PictureSource) {
        let properties = boxes.first("iprp")?.boxes(source).first("ipco")?.boxes(source) ?? []
        // The two lowest bits of this byte say one less.
        let byte = properties.first("hvcC")?.window(source)[21]
        lengthSize = byte.map { Int($0 & 3) + 1 } ?? 4
        guard let entries = boxes.first("iinf"), let table = boxes.first("iloc") else { return }
        let stored = boxes.first("idat")?.body ?? 0..<0
        let places = Self.places(table.window(source), source.size, stored)
        // The count of items has 2 or 4 bytes.
        let version = source.read(at: entries.body.lowerBound, count: 1).first
        for entry in entries.boxes(source, skipping: Self.fullBox + (version == 0 ? 2 : 4)) where entry.name == "infe" {
            let window = source.window(at: entry.body.lowerBound, count: min(entry.body.count, 64))
            let numberSize = window[0] == 2 ? 2 : 4
            guard let number = window.integer(at: 4, bytes: numberSize),
                let kind = Self.kind(window, at: 6 + numberSize)
            else { continue }
            all.append(Item(kind: kind, places: places[number]))
        }
    }

    private static func kind(_ window: Window, at offset: Int) -> Kind? {
        if window.has("hvc1", at: offset) { return .hevc }
        if window.has("av01", at: offset) { return .av1 }
        if window.has("Exif", at: offset) { return .exif }
        return window.has("mime", at: offset) && window.contains("application/rdf+xml") ? .xmp : nil
    }

    /// The places of the items in the file (section 8.11.3), by their numbers.
    ///
    /// - Parameter stored: place of the box `idat`, which can have the items.
    private static func places(_ window: Window, _ size: Int, _ stored: Range<Int>) -> [Int: [Range<Int>]] {
        guard let version = window[0], version <= 2, let sizes = window.integer(at: 4, bytes: 2) else { return [:] }
        // Four bits each: sizes of offsets, lengths, base offsets and, since version 1, indices.
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version > 0 ? sizes & 15 : 0
        let numberSize = version < 2 ? 2 : 4
        guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy({ [0, 4, 8].contains($0) }) else { return [:] }
        var position = 6
        func take(_ size: Int) -> Int? {
            defer { position += size }
            return size == 0 ? 0 : size == 8 ? window.long(at: position) : window.integer(at: position, bytes: size)
        }
        /// A piece inside the file or, by method 1, inside `idat`.
        func takePiece(_ method: Int, _ base: Int) -> Range<Int>? {
            let whole = method == 0 ? 0..<size : stored
            guard take(indexSize) != nil, let offset = take(offsetSize), let length = take(lengthSize), method <= 1,
                base <= whole.count, offset <= whole.count - base, length <= whole.count - base - offset
            else { return nil }
            let start = whole.lowerBound + base + offset
            return start..<start + length
        }
        guard let count = take(numberSize) else { return [:] }
        var places: [Int: [Range<Int>]] = [:]
        var read = 0
        for _ in 0..<min(count, mostEntries) {
            guard let number = take(numberSize), let method = version > 0 ? take(2) : 0, take(2) != nil,
                let base = take(baseSize), let extents = take(2)
            else { break }
            let first = position
            read += extents
            guard read <= mostEntries else { break }
            let pieces = (0..<extents).map { _ in takePiece(method & 15, base) }
            position = first + extents * (indexSize + offsetSize + lengthSize)
            let found = pieces.compactMap(\.self)
            if found.count == extents, extents > 0, places[number] == nil { places[number] = found }
        }
        return places
    }
}

/// Searching coded pictures for what is missing in them. Decoders make some picture of any bytes: HEVC and AV1 have no
/// checksum. What is missing in a file is mostly zeros, though; bytes that are overwritten by others are not found.
extension HEIFItems {
    /// Zeros in a row that coded data of AV1 do not have by chance: it is arithmetically coded, so its bytes look random.
    private static let mostZeros = 32

    /// Whether no coded picture has a hole; nil if the place of one is not known.
    ///
    /// - Parameter bytes: the whole file.
    func haveNoHole(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        var isKnown = true
        for item in all where item.kind == .hevc || item.kind == .av1 {
            guard let places = item.places else {
                isKnown = false
                continue
            }
            let isWhole: Bool
            if places.count == 1, let place = places.first {
                isWhole = check(item.kind, UnsafeRawBufferPointer(rebasing: bytes[place]))
            } else {
                let joined = places.flatMap { bytes[$0] }
                isWhole = joined.withUnsafeBytes { check(item.kind, $0) }
            }
            guard isWhole else { return false }
        }
        return isKnown ? true : nil
    }

    private func check(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) -> Bool {
        kind == .hevc ? HEVCUnits.areWhole(bytes, lengthSize: lengthSize) : !Self.hasZeros(bytes, Self.mostZeros)
    }

    private static func hasZeros(_ bytes: UnsafeRawBufferPointer, _ most: Int) -> Bool {
        var count = 0
        for byte in bytes {
            count = byte == 0 ? count + 1 : 0
            if count > most { return true }
        }
        return false
    }
}

/// The units of a picture that is coded by HEVC, each behind its length (ISO/IEC 14496-15, section 8.3.2).
///
/// Three zeros in a row never occur in a unit (ITU-T H.265, section 7.4.2).
enum HEVCUnits {
    /// Zeros at the end of a unit that encoders may leave there.
    private static let mostTrailing = 3

    /// Whether the lengths lead to the end of a coded picture, and no unit has a hole.
    ///
    /// - Parameter lengthSize: bytes of a length, 1 to 4.
    static func areWhole(_ bytes: UnsafeRawBufferPointer, lengthSize: Int = 4) -> Bool {
        var offset = 0
        while offset < bytes.count {
            guard bytes.count - offset > lengthSize else { return false }
            let length = bytes[offset..<offset + lengthSize].reduce(0) { $0 << 8 | Int($1) }
            offset += lengthSize
            guard length > 0, length <= bytes.count - offset,
                !hasHole(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
            else { return false }
            offset += length
        }
        return true
    }

    /// Whether three bytes in a row are zero. Every third byte is enough to find one of them.
    private static func hasHole(_ whole: UnsafeRawBufferPointer) -> Bool {
        var end = whole.count
        while end > 0, whole.count - end < mostTrailing, whole[end - 1] == 0 { end -= 1 }
        let unit = UnsafeRawBufferPointer(rebasing: whole[..<end])
        var offset = 2
        while offset < unit.count {
            if unit[offset] == 0 {
                let before = unit[offset - 1] == 0 ? (unit[offset - 2] == 0 ? 2 : 1) : 0
                var after = 0
                while after < 2, offset + after + 1 < unit.count, unit[offset + after + 1] == 0 { after += 1 }
                if before + 1 + after >= 3 { return true }
            }
            offset += 3
        }
        return false
    }
}
