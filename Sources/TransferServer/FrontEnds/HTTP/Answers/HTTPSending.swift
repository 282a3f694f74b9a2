import TransferCodec
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// The answer to a request for a file: all of it, or ranges (RFC 9110, section 14). It is never completed if the content turns out to
/// differ from what was acknowledged. Used by one task at a time.
final class HTTPSending: HTTPAnswer {
    /// A range of the file to send, and the bytes before it.
    private struct Run {
        var prefix: [UInt8]
        var range: Range<UInt64>
    }

    let path: String
    private let place: RelativePath
    private let content: any ReadableContent
    private let fields: [(String, String)]
    private let status: Int
    private let length: UInt64
    private var runs: [Run]
    /// The bytes after the last of several ranges.
    private var suffix: [UInt8]
    /// Digests content that is sent whole and whose digest is known; nil for other content.
    private let digester: ContentDigester?
    private let known: Digest?
    private let started = monotonicNanoseconds()

    /// - Parameters:
    ///   - ranges: none of them empty; nil for the whole file.
    ///   - known: the acknowledged digest; nil if it is not known.
    init(
        _ path: String, _ place: RelativePath, _ content: any ReadableContent, _ ranges: [Range<UInt64>]?,
        fields: [(String, String)], known: Digest?, digester: ContentDigester?
    ) {
        (self.path, self.place, self.content) = (path, place, content)
        let size = content.attributes.size
        let type = ContentTypes.type(of: path)
        let isWhole = ranges == nil
        (self.known, self.digester) = isWhole && known != nil ? (known, digester) : (nil, nil)
        status = isWhole ? 200 : 206
        if let ranges, ranges.count > 1 {
            let boundary = UploadID.random().description
            let framing = MultipartByteRanges(ranges, size: size, contentType: type, boundary: boundary)
            (length, suffix) = (framing.length ?? 0, framing.end)
            runs = ranges.indices.map { Run(prefix: framing.head(of: $0), range: ranges[$0]) }
            self.fields = fields + [("Content-Type", framing.contentType)]
        } else {
            let range = ranges?.first ?? 0..<size
            (length, suffix) = (range.upperBound - range.lowerBound, [])
            runs = [Run(prefix: [], range: range)]
            let part = isWhole ? [] : [("Content-Range", ContentRange.text(range, size: size))]
            self.fields = fields + [("Content-Type", type)] + part
        }
        if size > UInt64(Limits.blockSize) { content.expectAll() }
    }

    var suspect: RottenFile? {
        known.map { RottenFile(version: content.attributes.version, digest: $0) }
    }

    func head(isLast: Bool) -> [UInt8] { HTTPAnswers.head(status, fields, length: length, isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        while let run = runs.first {
            guard outcome.room > 0 else { return false }
            if !run.prefix.isEmpty {
                outcome.append(run.prefix)
                runs[0].prefix = []
            }
            let left = run.range.upperBound - run.range.lowerBound
            guard left > 0 else {
                runs.removeFirst()
                continue
            }
            let count = Int(min(left, UInt64(clamping: max(1, outcome.room))))
            outcome.append(try chunk(count, at: run.range.lowerBound, from: pool))
            runs[0].range = run.range.lowerBound + UInt64(count)..<run.range.upperBound
        }
        try check()
        outcome.append(suffix)
        return true
    }

    private func chunk(_ count: Int, at offset: UInt64, from pool: BufferPool) throws(Failure) -> AnswerChunk {
        let chunk = AnswerChunk(room: count, from: pool)
        let bytes = try chunk.append(count) { (place) throws(Failure) in try content.read(into: place, at: offset) }
        guard let bytes else { throw changed }
        digester?.update(bytes) { _, _ in }
        // Checked before the last byte is sent, so that an answer with other content stays incomplete.
        if runs.count == 1, offset + UInt64(count) == runs[0].range.upperBound { try check() }
        return chunk
    }

    private var isChecked = false

    /// Checks that the sent content is that of the version and the digest.
    private func check() throws(Failure) {
        guard !isChecked else { return }
        isChecked = true
        guard content.isUnchanged else { throw changed }
        guard let known, let digester, digester.finish().digest != known else { return }
        throw try isReadWell(known) ? .misread(place) : .contentLost(place)
    }

    /// Most bytes that are read a second time at once; this takes some tenths of a second.
    private static let mostReadAgain: UInt64 = 64 << 20
    private static let readSize = 256 << 10

    /// Whether a second reading gives the acknowledged content, so that only the first one was wrong. False for long files.
    private func isReadWell(_ known: Digest) throws(Failure) -> Bool {
        guard content.attributes.size <= Self.mostReadAgain else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        return try content.digest(known.algorithm.function, through: buffer) { _ in true } == known
    }

    private var changed: Failure { Failure(.fileChanged, "\(place) changed while it was read.") }

    func events(peer: String) -> [LogEvent] {
        [.fetchedOverHTTP(path, length, seconds: Double(monotonicNanoseconds() - started) / 1e9, peer: peer)]
    }
}

extension LogEvent {
    /// - Parameter size: number of bytes that were sent.
    fileprivate static func fetchedOverHTTP(_ path: String, _ size: UInt64, seconds: Double, peer: String) -> LogEvent {
        LogEvent(
            .info, "fetched",
            "sent \(path.escapedForDisplay) over HTTP, \(size) bytes in \(seconds.shown(decimals: 3)) s",
            [
                ("path", .string(path)), ("size", .unsigned(size)), ("seconds", .number(seconds)),
                ("peer", .string(peer)),
            ])
    }
}

/// Media types by file name. Browsers are not allowed to guess others.
enum ContentTypes {
    /// Text counts as UTF-8. Types that a browser could run are sent as text: no stored file becomes a page.
    private static let types: KeyValuePairs = [
        "aac": "audio/aac", "avif": "image/avif", "bmp": "image/bmp", "css": text, "csv": "text/csv; charset=utf-8",
        "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif",
        "htm": text, "html": text, "ico": "image/x-icon", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": text,
        "json": "application/json", "log": text, "m4a": "audio/mp4", "md": "text/markdown; charset=utf-8",
        "mkv": "video/x-matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "pdf": "application/pdf",
        "png": "image/png", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "txt": text,
        "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp", "xml": text, "yaml": text, "yml": text,
        "zip": "application/zip", "zst": "application/zstd",
    ]

    private static let text = "text/plain; charset=utf-8"

    static func type(of path: String) -> String {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring(path).utf8
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return unknown }
        let ending = name[name.index(after: dot)...].prefix(8).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return types.first { $0.key.utf8.elementsEqual(ending) }?.value ?? unknown
    }

    private static let unknown = "application/octet-stream"
}
