import Testing
import TransferClient
import TransferModel
import TransferProtocol

@Suite struct ContentKindRecognitionTests {
    private static let mp4 = [UInt8](arrayLiteral: 0, 0, 0, 0x20)

    private static let fronts: [(String, [UInt8], ContentKind)] = [
        ("PNG", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .picture),
        ("JPEG", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10], .picture),
        ("GIF 87", Array("GIF87a".utf8), .picture), ("GIF 89", Array("GIF89a\0".utf8), .picture),
        ("WebP", Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ".utf8), .picture),
        ("BMP", Array("BM".utf8) + [0x46, 0, 0, 0, 0, 0, 0, 0, 0x36], .picture),
        ("TIFF, little-endian", [0x49, 0x49, 0x2A, 0x00], .picture),
        ("TIFF, big-endian", [0x4D, 0x4D, 0x00, 0x2A], .picture),
        ("HEIC", mp4 + Array("ftypheic".utf8), .picture), ("AVIF", mp4 + Array("ftypavif".utf8), .picture),
        ("HEIF", mp4 + Array("ftypmif1".utf8), .picture),
        ("MP3 with a tag", Array("ID3\u{4}\0".utf8), .audio), ("MP3", [0xFF, 0xFB, 0x90, 0x00], .audio),
        ("FLAC", Array("fLaC\0\0\0\u{22}".utf8), .audio), ("Ogg", Array("OggS\0".utf8), .audio),
        ("WAV", Array("RIFF\u{1}\u{2}\u{3}\u{4}WAVEfmt ".utf8), .audio),
        ("M4A", mp4 + Array("ftypM4A ".utf8), .audio), ("MIDI", Array("MThd\0\0\0\u{6}".utf8), .audio),
        ("video", mp4 + Array("ftypisom".utf8), .file),
        ("text", Array("Hello\n".utf8), .text), ("a character", Array("x".utf8), .text),
        ("Chinese", Array("你好".utf8), .text), ("RIFF text", Array("RIFF".utf8), .text),
        ("geo", Array("geo:48.2,16.3;u=35".utf8), .location),
        ("GPX", Array("<?xml version=\"1.0\"?>\n<gpx version=\"1.1\">".utf8), .location),
        ("KML", Array("<kml xmlns=\"x\">".utf8), .location),
        ("GeoJSON", Array("{ \"type\" :\n \"Feature\" }".utf8), .location),
        ("other XML", Array("<html>".utf8), .text), ("other JSON", Array("{\"type\":\"x\"}".utf8), .text),
        ("binary", [1, 2, 0, 3], .file), ("not UTF-8", [0xC3, 0x28], .file),
        ("Latin-1", [0x67, 0x72, 0xFC, 0xDF], .file),
        ("empty", [], .file),
    ]

    @Test(arguments: fronts.indices)
    func recognises(_ index: Int) {
        let (name, bytes, kind) = Self.fronts[index]
        #expect(kindOf(bytes, isWhole: true) == kind, "\(name)")
    }

    @Test(arguments: fronts.indices)
    func noFrontIsTooShort(_ index: Int) {
        let bytes = Self.fronts[index].1
        for count in 0...bytes.count {
            _ = kindOf(Array(bytes[..<count]), isWhole: true)
            _ = kindOf(Array(bytes[..<count]), isWhole: false)
        }
    }

    /// The text has characters of one to four bytes and is cut at every byte.
    @Test func aCutCharacterIsTextUnlessItIsTheEnd() {
        let bytes = Array("aä中😀".utf8)
        let boundaries = [0, 1, 3, 6, 10]
        for count in 1...bytes.count {
            #expect(kindOf(Array(bytes[..<count]), isWhole: false) == .text)
            #expect(kindOf(Array(bytes[..<count]), isWhole: true) == (boundaries.contains(count) ? .text : .file))
        }
    }

    /// Recognition reads only the first 4 KiB, so it can cut their last character although the text is complete.
    @Test(arguments: 0..<4)
    func longTextIsText(_ shift: Int) {
        let text = String(repeating: "x", count: shift) + String(repeating: "中", count: 2000)
        #expect(kindOf(Array(text.utf8), isWhole: true) == .text)
        #expect(kindOf(Array(String(repeating: "😀", count: 2000).utf8.dropFirst(0)), isWhole: true) == .text)
    }

    private func kindOf(_ bytes: [UInt8], isWhole: Bool) -> ContentKind {
        bytes.withUnsafeBytes { ContentKind(recognising: $0, isWhole: isWhole) }
    }
}
