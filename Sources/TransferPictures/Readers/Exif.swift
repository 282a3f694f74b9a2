internal import TransferModel

/// What EXIF data say: a TIFF file (TIFF 6.0, section 2) with the directories of CIPA DC-008.
///
/// Three directories are read, each once, and never the one behind another: links cannot make a loop.
struct Exif {
    private(set) var orientation: Orientation?
    private(set) var taken: TakenTime?
    private(set) var camera: String?
    private(set) var hasLocation = false
    /// Offset of the GPS directory in the file of the picture.
    private(set) var locationOffset: Int?

    /// Tags of CIPA DC-008, tables 4 to 15.
    private enum Tag {
        static let make = 0x010F
        static let model = 0x0110
        static let orientation = 0x0112
        static let exifDirectory = 0x8769
        static let locationDirectory = 0x8825
        static let taken = 0x9003
        static let takenOffset = 0x9011
        static let takenFraction = 0x9291
        /// Latitude, longitude, both of the destination, and the name of the area.
        static let places: Set = [0x02, 0x04, 0x14, 0x16, 0x1C]
    }

    /// Reads as much as is valid.
    ///
    /// - Parameters:
    ///   - window: the data, with or without the prefix that they have in JPEG.
    ///   - offset: of the data in the file.
    init?(_ window: Window, at offset: Int) {
        // Some programs write the prefix into other containers as well.
        let start = window.has("Exif\0\0", at: 0) ? 6 : 0
        guard let tiff = TIFF(Window(Array(window.bytes.dropFirst(start)))) else { return nil }
        let main = tiff.directory(at: tiff.first)
        orientation = main[Tag.orientation].flatMap(tiff.number).flatMap { Orientation(rawValue: UInt8(clamping: $0)) }
        camera = Self.camera(
            make: main[Tag.make].flatMap(tiff.text) ?? "", model: main[Tag.model].flatMap(tiff.text) ?? "")
        if let link = main[Tag.exifDirectory].flatMap(tiff.number) {
            let directory = tiff.directory(at: link)
            taken = Self.time(
                directory[Tag.taken].flatMap(tiff.text) ?? "",
                fraction: directory[Tag.takenFraction].flatMap(tiff.text) ?? "",
                offset: directory[Tag.takenOffset].flatMap(tiff.text) ?? "")
        }
        if let link = main[Tag.locationDirectory].flatMap(tiff.number), link < tiff.window.count {
            locationOffset = offset + start + link
            hasLocation = !Tag.places.isDisjoint(with: tiff.directory(at: link).keys)
        }
    }

    /// Reads `2026:01:31 18:30:05`, decimals of the second, and `+02:00`.
    private static func time(_ text: String, fraction: String, offset: String) -> TakenTime? {
        let parts = text.utf8.split(whereSeparator: { $0 == 0x3A || $0 == 0x20 || $0 == 0x2D }).map(number)
        guard parts.count >= 6, let year = parts[0], let month = parts[1], let day = parts[2], let hour = parts[3],
            let minute = parts[4], let second = parts[5], year > 0,
            let calendar = CalendarTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        let digits = fraction.utf8.prefix { (0x30...0x39).contains($0) }.prefix(9)
        let nanoseconds = digits.reduce(0) { $0 * 10 + UInt32($1 - 0x30) }
        return TakenTime(
            calendar: calendar, nanoseconds: (digits.count..<9).reduce(nanoseconds) { value, _ in value * 10 },
            offset: TakenTime.offset(offset.utf8))
    }

    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard (1...4).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// Joins both; most makers repeat their name in the model.
    static func camera(make: String, model: String) -> String? {
        let isRepeated = !make.isEmpty && model.lowercased().hasPrefix(make.lowercased())
        let text = make.isEmpty || isRepeated ? model : model.isEmpty ? make : make + " " + model
        return text.isEmpty ? nil : text
    }
}

extension TakenTime {
    /// Reads `+02:00`, `+0200` or `Z`; nil for any other text.
    static func offset(_ text: some Collection<UInt8>) -> Int? {
        if text.elementsEqual("Z".utf8) { return 0 }
        let sign = text.first
        let digits = text.dropFirst().filter { $0 != 0x3A }
        guard sign == 0x2B || sign == 0x2D, digits.count == 4, digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let numbers = digits.map { Int($0) - 0x30 }
        let (hours, minutes) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
        guard hours <= 14, minutes < 60 else { return nil }
        return (sign == 0x2D ? -1 : 1) * (hours * 60 + minutes)
    }
}

/// The structure of TIFF: directories of tagged values, in the byte order that the file names.
private struct TIFF {
    /// Type, count and place of a value (TIFF 6.0, section 2).
    struct Entry {
        let type: Int
        let count: Int
        /// Offset of the entry's last four bytes, which are the value or its offset.
        let field: Int
    }

    let window: Window
    /// Offset of the first directory.
    let first: Int
    private let order: Window.ByteOrder

    /// Entries of a directory that are read. Cameras write fewer than 100.
    private static let mostEntries = 512

    /// Characters of a text that are kept.
    private static let longestText = 64

    init?(_ window: Window) {
        if window.has("II", at: 0) {
            order = .littleEndian
        } else if window.has("MM", at: 0) {
            order = .bigEndian
        } else {
            return nil
        }
        guard window.integer(at: 2, bytes: 2, order) == 42, let first = window.integer(at: 4, bytes: 4, order) else {
            return nil
        }
        (self.window, self.first) = (window, first)
    }

    /// Reads a directory; of several entries with one tag, the first counts.
    func directory(at offset: Int) -> [Int: Entry] {
        var entries: [Int: Entry] = [:]
        guard let count = window.integer(at: offset, bytes: 2, order) else { return entries }
        for index in 0..<min(count, Self.mostEntries) {
            let start = offset + 2 + index * 12
            guard let tag = window.integer(at: start, bytes: 2, order),
                let type = window.integer(at: start + 2, bytes: 2, order),
                let count = window.integer(at: start + 4, bytes: 4, order), window[start + 11] != nil
            else { break }
            if entries[tag] == nil { entries[tag] = Entry(type: type, count: count, field: start + 8) }
        }
        return entries
    }

    /// One number of type SHORT or LONG.
    func number(_ entry: Entry) -> Int? {
        switch entry.type {
        case 3: window.integer(at: entry.field, bytes: 2, order)
        case 4, 13: window.integer(at: entry.field, bytes: 4, order)
        default: nil
        }
    }

    /// A text of type ASCII, up to its NUL, without characters that are not printable and without spaces around it.
    func text(_ entry: Entry) -> String? {
        guard entry.type == 2, entry.count > 0 else { return nil }
        let offset = entry.count <= 4 ? entry.field : window.integer(at: entry.field, bytes: 4, order)
        guard let offset, let bytes = window.slice(at: offset, count: min(entry.count, Self.longestText)) else {
            return nil
        }
        return String(printable: bytes.prefix { $0 != 0 })
    }
}

extension String {
    /// Keeps printable ASCII, without spaces at both ends. EXIF texts are ASCII, and a text from a picture must not
    /// control a terminal.
    init(printable bytes: some Collection<UInt8>) {
        let shown = bytes.filter { (0x20...0x7E).contains($0) }
        let trimmed = shown.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed()
        self.init(decoding: Array(trimmed), as: UTF8.self)
    }
}
