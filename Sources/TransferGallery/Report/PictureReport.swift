package import TransferModel
import TransferPictures

/// Why there is no thumbnail of a file.
package enum PictureRefusal: Int, Sendable, CaseIterable {
    /// The content has none of the known formats.
    case notPicture = 1
    /// The format is known, but it is not decoded here.
    case unsupported
    /// A limit of `PictureLimits` is exceeded.
    case tooLarge
    /// The content breaks the format's rules, and no pixel could be decoded.
    case damaged
    /// The decoder was killed: it used too much memory or time, or it did what it may not do.
    case failed

    /// The reason as a sentence for people.
    package var message: String {
        switch self {
        case .notPicture: "The file is not a picture."
        case .unsupported:
            "The server cannot decode pictures in this format. For HEIC and AVIF, libheif has to be installed there."
        case .tooLarge: "The picture is too large for a thumbnail."
        case .damaged: "The picture is damaged: nothing of it could be decoded."
        case .failed: "The picture could not be decoded: it takes too much memory or time, or is made to do harm."
        }
    }

    init(_ code: PictureFault.Code) {
        switch code {
        case .notPicture: self = .notPicture
        case .unsupported: self = .unsupported
        case .tooLarge: self = .tooLarge
        case .damaged: self = .damaged
        }
    }

    /// Name in the decoder's answer.
    fileprivate var name: String { "\(self)" }
}

/// What a decoder has found out about one file.
package struct PictureReport: Equatable, Sendable {
    /// Nil if the headers could not be read.
    package var summary: PictureSummary?
    /// Why there is no thumbnail; nil if there is one, or if none was wanted.
    package var refusal: PictureRefusal?

    /// The file of the thumbnail, a WebP.
    package var thumbnail: [UInt8]?

    package init(
        summary: PictureSummary? = nil, refusal: PictureRefusal? = nil, thumbnail: [UInt8]? = nil
    ) {
        (self.summary, self.refusal, self.thumbnail) = (summary, refusal, thumbnail)
    }
}

/// The form in which a decoder hands over its report: a number of bytes (4, network byte order), as many bytes of JSON, and the same
/// for the thumbnail's file, which has no bytes if none was made.
extension PictureReport {
    /// Most bytes of the JSON, which has some hundred.
    private static let mostJSON = 8 << 10

    /// Most bytes of a report.
    static let mostBytes = 8 + mostJSON + PictureLimits.thumbnailSize

    /// What clients get: the summary, and the name of the refusal.
    package var description: JSONLine {
        var json = summary?.json ?? [:]
        if let refusal { json.append("refusal", .string(refusal.name)) }
        return json
    }

    var bytes: [UInt8] {
        let text = Array(description.text.utf8)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(text.count))
        bytes += text
        bytes.append(bigEndian: UInt32(thumbnail?.count ?? 0))
        return bytes + (thumbnail ?? [])
    }

    /// Reads a report that is not trusted, because the picture may have taken over the decoder.
    ///
    /// - Parameter side: the side of the thumbnail that was wanted, in pixels; nil if none was.
    /// - Returns: nil if it is no report, or if its thumbnail is not a WebP of that size without further data.
    init?(untrusted bytes: [UInt8], side: Int?) {
        guard let text = Self.piece(of: bytes, at: 0, upTo: Self.mostJSON),
            let file = Self.piece(of: bytes, at: text.endIndex, upTo: PictureLimits.thumbnailSize),
            let node = try? JSONReader.read(Array(text), deepest: 1, allowsNUL: false, mostValues: 32)
        else { return nil }
        summary = PictureSummary(untrusted: node)
        if case .string(let name)? = node["refusal"] {
            guard let refusal = PictureRefusal.allCases.first(where: { $0.name.hasSameBytes(as: name) }) else {
                return nil
            }
            self.refusal = refusal
        }
        if !file.isEmpty {
            guard let side, summary != nil, refusal == nil, Self.isThumbnail(Array(file), side: side) else {
                return nil
            }
            thumbnail = Array(file)
            summary?.colour = Self.colour(node["colour"])
        }
        guard refusal != nil || summary != nil, side == nil || refusal != nil || thumbnail != nil else { return nil }
    }

    private static func piece(of bytes: [UInt8], at start: Int, upTo most: Int) -> ArraySlice<UInt8>? {
        guard bytes.count >= start + 4 else { return nil }
        let count = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard count <= most, bytes.count - start - 4 >= count else { return nil }
        return bytes[start + 4..<start + 4 + count]
    }

    private static func isThumbnail(_ file: [UInt8], side: Int) -> Bool {
        guard hasOnlyPixels(file), let facts = file.withUnsafeBytes({ try? PictureFacts(reading: MemorySource($0)) })
        else { return false }
        return facts.format == .webp && !facts.isAnimated && max(facts.width, facts.height) <= side
    }

    /// Chunks that a thumbnail may have (RFC 9649, section 2.5): no metadata but the colour profile.
    private static let chunks = ["VP8X", "ICCP", "ALPH", "VP8 ", "VP8L"]

    /// Whether the file is a container of such chunks, and ends where they do.
    private static func hasOnlyPixels(_ file: [UInt8]) -> Bool {
        let (head, end) = (12, file.count)
        guard end > head, size(in: file, at: 4) == end - 8 else { return false }
        var offset = head
        while offset + 8 <= end {
            guard chunks.contains(where: { file[offset..<offset + 4].elementsEqual($0.utf8) }) else { return false }
            // Chunks have even lengths.
            let size = size(in: file, at: offset + 4)
            offset += 8 + size + size % 2
        }
        return offset == end
    }

    /// Four bytes, the lowest one first, which have to be in the file.
    private static func size(in file: [UInt8], at offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(file[offset + $1]) << ($1 * 8) }
    }

    private static func colour(_ node: JSONNode?) -> UInt32? {
        guard case .string(let text)? = node, text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#") else {
            return nil
        }
        return UInt32(text.dropFirst(), radix: 16)
    }
}
