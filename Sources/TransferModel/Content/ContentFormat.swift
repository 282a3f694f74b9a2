/// The format of content as its first bytes show it. A client derives the kind of an upload from it, and a server the
/// file extension of content that arrives without a name.
package enum ContentFormat: Sendable, CaseIterable {
    case png, jpeg, gif, webp, bmp, tiff, heic, heif, avif
    case mp3, flac, ogg, wav, aiff, m4a, midi, aac
    /// A geo URI (RFC 5870).
    case geo
    case gpx, kml
    /// GeoJSON as in RFC 7946.
    case geoJSON
    /// UTF-8 text that has none of the other formats.
    case text
    /// Anything else, and empty content.
    case binary

    /// The kind of content with this format, unless the user chooses another kind.
    package var kind: ContentKind {
        switch self {
        case .png, .jpeg, .gif, .webp, .bmp, .tiff, .heic, .heif, .avif: .picture
        case .mp3, .flac, .ogg, .wav, .aiff, .m4a, .midi, .aac: .audio
        case .geo, .gpx, .kml, .geoJSON: .location
        case .text: .text
        case .binary: .file
        }
    }

    /// The usual file extension, without the dot. A geo URI, which has no usual one, gets that of text.
    package var fileExtension: String {
        switch self {
        case .png: "png"
        case .jpeg: "jpg"
        case .gif: "gif"
        case .webp: "webp"
        case .bmp: "bmp"
        case .tiff: "tiff"
        case .heic: "heic"
        case .heif: "heif"
        case .avif: "avif"
        case .mp3: "mp3"
        case .flac: "flac"
        case .ogg: "ogg"
        case .wav: "wav"
        case .aiff: "aiff"
        case .m4a: "m4a"
        case .midi: "mid"
        case .aac: "aac"
        case .gpx: "gpx"
        case .kml: "kml"
        case .geoJSON: "geojson"
        case .geo, .text: "txt"
        case .binary: "bin"
        }
    }
}

/// Which files may be pictures or videos, by the endings of their names. Their content decides; but only what has such a
/// name is looked at unasked.
package enum PictureNames {
    private static let pictures = ["jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "heic", "heif", "avif"]
    private static let videos = ["mp4", "mov", "m4v"]

    /// - Parameter name: a name or a path.
    package static func isPicture(_ name: String) -> Bool { has(pictures, name) }

    /// - Parameter name: a name or a path.
    package static func isPictureOrVideo(_ name: String) -> Bool { isPicture(name) || has(videos, name) }

    private static func has(_ endings: [String], _ path: String) -> Bool {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return false }
        let ending = name[name.index(after: dot)...].prefix(5).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return endings.contains { $0.utf8.elementsEqual(ending) }
    }
}
