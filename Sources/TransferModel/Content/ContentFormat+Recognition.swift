extension ContentFormat {
    /// Bytes at the beginning of the content that recognition examines.
    package static let sampleSize = 4096

    /// Recognises content by its first bytes; `binary` if no format matches.
    ///
    /// - Parameters:
    ///   - sample: the first bytes; more than 4 KiB are ignored.
    ///   - isWhole: whether the sample is the whole content. If not, its last character may be cut.
    package init(recognising sample: UnsafeRawBufferPointer, isWhole: Bool) {
        let isWhole = isWhole && sample.count <= Self.sampleSize
        let sample = UnsafeRawBufferPointer(rebasing: sample.prefix(Self.sampleSize))
        if let (_, format) = Self.signatures.first(where: { $0.signature.matches(sample) }) {
            self = format
        } else if !sample.isEmpty, Self.isText(sample, isWhole: isWhole) {
            self = Self.location(sample) ?? .text
        } else {
            self = .binary
        }
    }

    /// Bytes at fixed offsets by which a format is recognised.
    private struct Signature {
        let parts: [(offset: Int, bytes: [UInt8])]

        init(_ text: StaticString, at offset: Int = 0, _ more: (Int, StaticString)...) {
            parts = [(offset, Self.bytes(text))] + more.map { ($0.0, Self.bytes($0.1)) }
        }

        init(_ bytes: [UInt8]) {
            parts = [(0, bytes)]
        }

        func matches(_ sample: UnsafeRawBufferPointer) -> Bool {
            parts.allSatisfy { offset, bytes in
                sample.count >= offset + bytes.count && sample[offset..<offset + bytes.count].elementsEqual(bytes)
            }
        }

        private static func bytes(_ text: StaticString) -> [UInt8] { text.withUTF8Buffer { Array($0) } }
    }

    /// Pictures come before sounds. The HEIF family and M4A are recognised by their brands (ISO/IEC 14496-12 `ftyp`),
    /// MP3 with or without a tag.
    private static let signatures: [(signature: Signature, format: ContentFormat)] = [
        (Signature([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), .png), (Signature([0xFF, 0xD8, 0xFF]), .jpeg),
        (Signature("GIF87a"), .gif), (Signature("GIF89a"), .gif), (Signature("RIFF", (8, "WEBP")), .webp),
        (Signature("BM", (6, "\0\0\0\0")), .bmp), (Signature([0x49, 0x49, 0x2A, 0x00]), .tiff),
        (Signature([0x4D, 0x4D, 0x00, 0x2A]), .tiff), (Signature("ftypheic", at: 4), .heic),
        (Signature("ftypheix", at: 4), .heic), (Signature("ftypmif1", at: 4), .heif),
        (Signature("ftypavif", at: 4), .avif),
        (Signature("ID3"), .mp3), (Signature([0xFF, 0xFB]), .mp3), (Signature([0xFF, 0xF3]), .mp3),
        (Signature("fLaC"), .flac), (Signature("OggS"), .ogg), (Signature("RIFF", (8, "WAVE")), .wav),
        (Signature("FORM", (8, "AIFF")), .aiff), (Signature("ftypM4A ", at: 4), .m4a), (Signature("MThd"), .midi),
        (Signature([0xFF, 0xF1]), .aac), (Signature([0xFF, 0xF9]), .aac),
    ]

    private static func isText(_ sample: UnsafeRawBufferPointer, isWhole: Bool) -> Bool {
        guard !sample.contains(0) else { return false }
        // At most three bytes of a cut character remain (RFC 3629).
        let cuts = isWhole ? 0...0 : 0...min(3, sample.count - 1)
        return cuts.contains { String(validating: sample.dropLast($0), as: UTF8.self) != nil }
    }

    /// A geo URI (RFC 5870), GPX, KML, or GeoJSON (RFC 7946).
    private static func location(_ sample: UnsafeRawBufferPointer) -> ContentFormat? {
        if sample.starts(with: "geo:".utf8) { return .geo }
        if sample.starts(with: "<".utf8) { return sample.holds("<gpx") ? .gpx : sample.holds("<kml") ? .kml : nil }
        guard sample.starts(with: "{".utf8) else { return nil }
        let compact = sample.filter { !Self.whitespace.contains($0) }
        let isOne = ["FeatureCollection", "Feature", "Point"].contains { compact.holds("\"type\":\"\($0)\"") }
        return isOne ? .geoJSON : nil
    }

    /// Whitespace of JSON (RFC 8259, section 2).
    private static let whitespace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
}

extension Collection<UInt8> {
    /// Whether the bytes contain the text. The search in strings of the standard library is not used, because it would
    /// link an engine for regular expressions into the program.
    fileprivate func holds(_ text: String) -> Bool {
        indices.contains { self[$0...].starts(with: text.utf8) }
    }
}
