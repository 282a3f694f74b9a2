import Testing
import TransferModel

@Suite struct ContentFormatTests {
    private static let brand = [UInt8](arrayLiteral: 0, 0, 0, 0x20)

    private static let fronts: [([UInt8], ContentFormat, String)] = [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png, "png"), ([0xFF, 0xD8, 0xFF, 0xE0], .jpeg, "jpg"),
        (Array("GIF89a".utf8), .gif, "gif"), (Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ".utf8), .webp, "webp"),
        (Array("BM".utf8) + [0x46, 0, 0, 0, 0, 0, 0, 0, 0x36], .bmp, "bmp"), ([0x4D, 0x4D, 0x00, 0x2A], .tiff, "tiff"),
        (brand + Array("ftypheic".utf8), .heic, "heic"), (brand + Array("ftypheix".utf8), .heic, "heic"),
        (brand + Array("ftypmif1".utf8), .heif, "heif"), (brand + Array("ftypavif".utf8), .avif, "avif"),
        (Array("ID3\u{4}\0".utf8), .mp3, "mp3"), ([0xFF, 0xFB, 0x90], .mp3, "mp3"),
        (Array("fLaC\0".utf8), .flac, "flac"),
        (Array("OggS\0".utf8), .ogg, "ogg"), (Array("RIFF\u{1}\u{2}\u{3}\u{4}WAVEfmt ".utf8), .wav, "wav"),
        (Array("FORM\u{1}\u{2}\u{3}\u{4}AIFF".utf8), .aiff, "aiff"), (brand + Array("ftypM4A ".utf8), .m4a, "m4a"),
        (Array("MThd\0".utf8), .midi, "mid"), ([0xFF, 0xF1], .aac, "aac"), (Array("geo:48.2,16.3".utf8), .geo, "txt"),
        (Array("<?xml?><gpx>".utf8), .gpx, "gpx"), (Array("<kml>".utf8), .kml, "kml"),
        (Array("{ \"type\" : \"Point\" }".utf8), .geoJSON, "geojson"), (Array("Hello\n".utf8), .text, "txt"),
        ([1, 2, 0, 3], .binary, "bin"), ([], .binary, "bin"), ([0x67, 0x72, 0xFC, 0xDF], .binary, "bin"),
    ]

    @Test(arguments: fronts.indices) func formats(_ index: Int) {
        let (bytes, format, fileExtension) = Self.fronts[index]
        #expect(bytes.withUnsafeBytes { ContentFormat(recognising: $0, isWhole: true) } == format)
        #expect(format.fileExtension == fileExtension)
    }

    @Test func everyFormatHasAFront() {
        #expect(Set(Self.fronts.map(\.1)) == Set(ContentFormat.allCases))
    }
}
