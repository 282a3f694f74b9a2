package import TransferModel
package import TransferPictures

/// What a picture or video says about itself, as clients get it. It comes from the file, and may be false.
package struct PictureSummary: Equatable, Sendable {
    package var format: PictureFormat
    /// Pixels in a row and rows as shown, after the orientation is applied; at least 1.
    package var width: Int
    package var height: Int
    /// Local time at the camera, as in ISO 8601 without an offset: `2026-01-31T18:30:05`; nil if the file does not say it.
    package var taken: String?
    /// Minutes that `taken` is ahead of UTC; nil if the file does not say it.
    package var offset: Int?
    /// Maker and model, 1 to 128 printable characters.
    package var camera: String?
    /// Whether the file says where the picture was taken.
    package var hasLocation = false
    package var isAnimated = false
    /// Whether all pixels could be decoded: false for a picture that is cut off or damaged; nil if it was not tried.
    package var isDecoded: Bool?
    /// Average colour, 0xRRGGBB; nil before a thumbnail was made.
    package var colour: UInt32?

    package init(format: PictureFormat, width: Int, height: Int) {
        (self.format, self.width, self.height) = (format, width, height)
    }

    init(_ facts: PictureFacts) {
        self.init(format: facts.format, width: facts.shownSize.width, height: facts.shownSize.height)
        (taken, offset) = (facts.taken?.text, facts.taken?.offset)
        (camera, hasLocation, isAnimated) = (facts.camera, facts.hasLocation, facts.isAnimated)
    }

    /// The object in entries and results.
    package var json: JSONLine {
        [
            "format": .string(format.name), "width": .integer(width), "height": .integer(height),
            "taken": taken.map { .string($0) } ?? .null, "offset": offset.map { .integer($0) } ?? .null,
            "camera": camera.map { .string($0) } ?? .null, "location": .bool(hasLocation),
            "animated": .bool(isAnimated), "decoded": isDecoded.map { .bool($0) } ?? .null,
            "colour": colour.map { .string(Self.text(ofColour: $0)) } ?? .null,
        ]
    }

    private static func text(ofColour colour: UInt32) -> String {
        let digits = String(colour & 0xFFFFFF, radix: 16)
        return "#" + String(repeating: "0", count: 6 - digits.count) + digits
    }
}

/// Reading back what a decoder has written, which may have been taken over by a picture.
extension PictureSummary {
    /// - Returns: nil if a member is missing, has another type, or is out of range.
    init?(untrusted node: JSONNode) {
        guard case .string(let name)? = node["format"], let format = PictureFormat(name: name),
            let width = Self.integer(node["width"], in: Self.sides),
            let height = Self.integer(node["height"], in: Self.sides)
        else { return nil }
        self.init(format: format, width: width, height: height)
        if case .string(let text)? = node["taken"] {
            guard Self.isTime(text) else { return nil }
            taken = text
            offset = Self.integer(node["offset"], in: Self.offsets)
        }
        if case .string(let text)? = node["camera"] {
            guard (1...Self.longestCamera).contains(text.unicodeScalars.count), text.utf8.allSatisfy({ $0 >= 0x20 })
            else { return nil }
            camera = text
        }
        hasLocation = node["location"] == .bool(true)
        isAnimated = node["animated"] == .bool(true)
        if case .bool(let isDecoded)? = node["decoded"] { self.isDecoded = isDecoded }
    }

    private static let sides = 1...Int(Int32.max)

    /// Minutes; time zones are at most 14 hours from UTC, and cameras write up to 24.
    private static let offsets = -1440...1440

    /// Most characters, those of `PictureFacts.camera`.
    private static let longestCamera = 128

    private static func integer(_ node: JSONNode?, in range: ClosedRange<Int>) -> Int? {
        guard case .number(let text)? = node, let number = Int(text), range.contains(number) else { return nil }
        return number
    }

    /// Whether a text has the form of `TakenTime.text`.
    private static func isTime(_ text: String) -> Bool {
        let form = Array("0000-00-00T00:00:00".utf8)
        return text.utf8.count == form.count
            && zip(text.utf8, form).allSatisfy { byte, form in
                form == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == form
            }
    }
}

extension PictureFormat {
    /// The name that clients and decoders use in JSON.
    package var name: String {
        switch self {
        case .jpeg: "jpeg"
        case .png: "png"
        case .gif: "gif"
        case .webp: "webp"
        case .heif: "heif"
        case .avif: "avif"
        case .mp4: "mp4"
        case .quickTime: "quicktime"
        }
    }

    init?(name: String) {
        guard let format = Self.allCases.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
        self = format
    }
}
