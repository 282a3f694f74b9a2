public import TransferModel

extension ContentKind {
    /// Bytes from the front of the content that recognition looks at.
    package static let sampleSize = 4096

    /// Recognises content by its first bytes; `file` when it is nothing else.
    ///
    /// - Parameters:
    ///   - sample: the first bytes, up to 4 KiB of them.
    ///   - isWhole: whether the sample is all there is; otherwise its last character may be cut.
    public init(recognising sample: UnsafeRawBufferPointer, isWhole: Bool) {
        let isWhole = isWhole && sample.count <= Self.sampleSize
        let sample = UnsafeRawBufferPointer(rebasing: sample.prefix(Self.sampleSize))
        if Self.pictures.contains(where: { $0.matches(sample) }) {
            self = .picture
        } else if Self.sounds.contains(where: { $0.matches(sample) }) {
            self = .audio
        } else if !sample.isEmpty, Self.isText(sample, isWhole: isWhole) {
            self = Self.isLocation(sample) ? .location : .text
        } else {
            self = .file
        }
    }

    /// Bytes at fixed places that formats begin with.
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

    /// PNG, JPEG, GIF, WebP, BMP, TIFF, and the HEIF family by its brands (ISO/IEC 14496-12 `ftyp`).
    private static let pictures: [Signature] = [
        Signature([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), Signature([0xFF, 0xD8, 0xFF]),
        Signature("GIF87a"), Signature("GIF89a"), Signature("RIFF", (8, "WEBP")), Signature("BM", (6, "\0\0\0\0")),
        Signature([0x49, 0x49, 0x2A, 0x00]), Signature([0x4D, 0x4D, 0x00, 0x2A]), Signature("ftypheic", at: 4),
        Signature("ftypheix", at: 4), Signature("ftypmif1", at: 4), Signature("ftypavif", at: 4),
    ]

    /// MP3 (with a tag or bare), FLAC, Ogg, WAV, AIFF, M4A, MIDI, AAC.
    private static let sounds: [Signature] = [
        Signature("ID3"), Signature([0xFF, 0xFB]), Signature([0xFF, 0xF3]), Signature("fLaC"), Signature("OggS"),
        Signature("RIFF", (8, "WAVE")), Signature("FORM", (8, "AIFF")), Signature("ftypM4A ", at: 4),
        Signature("MThd"), Signature([0xFF, 0xF1]), Signature([0xFF, 0xF9]),
    ]

    private static func isText(_ sample: UnsafeRawBufferPointer, isWhole: Bool) -> Bool {
        guard !sample.contains(0) else { return false }
        // A cut character has at most three bytes (RFC 3629).
        let cuts = isWhole ? 0...0 : 0...min(3, sample.count - 1)
        return cuts.contains { String(validating: sample.dropLast($0), as: UTF8.self) != nil }
    }

    /// A geo URI (RFC 5870), GPX, KML, or GeoJSON (RFC 7946).
    private static func isLocation(_ sample: UnsafeRawBufferPointer) -> Bool {
        if sample.starts(with: "geo:".utf8) { return true }
        if sample.starts(with: "<".utf8) { return sample.holds("<gpx") || sample.holds("<kml") }
        guard sample.starts(with: "{".utf8) else { return false }
        let compact = sample.filter { !Self.whitespace.contains($0) }
        return ["FeatureCollection", "Feature", "Point"].contains { compact.holds("\"type\":\"\($0)\"") }
    }

    /// Of JSON (RFC 8259, section 2).
    private static let whitespace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
}

extension Collection<UInt8> {
    /// Whether the text is somewhere in it. The standard library's search in strings would bring its engine for regular
    /// expressions into the program.
    fileprivate func holds(_ text: String) -> Bool {
        indices.contains { self[$0...].starts(with: text.utf8) }
    }
}
