/// How content is written, as far as its first bytes tell. The client gives uploads their kind by it, and a server gives
/// names to what came without one.
package enum ContentFormat: Sendable, CaseIterable {
    case png, jpeg, gif, webp, bmp, tiff, heic, heif, avif
    case mp3, flac, ogg, wav, aiff, m4a, midi, aac
    /// A URI of RFC 5870.
    case geo
    case gpx, kml
    /// RFC 7946.
    case geoJSON
    /// UTF-8 that is nothing of the above.
    case text
    /// Anything else, also nothing.
    case binary

    /// The kind that such content has when nobody says another.
    package var kind: ContentKind {
        switch self {
        case .png, .jpeg, .gif, .webp, .bmp, .tiff, .heic, .heif, .avif: .picture
        case .mp3, .flac, .ogg, .wav, .aiff, .m4a, .midi, .aac: .audio
        case .geo, .gpx, .kml, .geoJSON: .location
        case .text: .text
        case .binary: .file
        }
    }

    /// What names of such files end with, without the dot: as programs that open them know it. A geo URI has none of its own.
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
