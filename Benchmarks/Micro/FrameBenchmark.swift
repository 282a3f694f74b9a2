import CAllocations
import TransferCodec
import TransferModel
import TransferProtocol

/// Frames in memory: the cost of the parser and the encoder for each message and each upload.
struct FrameBenchmark {
    private static let contentSize = 4096
    private static let uploads = 1000

    /// Bytes of content in a frame. The client sends the content of a long upload in frames of this size.
    private static let payloadSize = 256 << 10

    private let small: [UInt8]
    private let long: [UInt8]
    private let messages: [Message]

    init() {
        let content = Sample.random(Self.contentSize)
        let digest = content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        messages = Self.messages(digest)
        var small: [UInt8] = []
        for _ in 0..<Self.uploads { Self.append(content, messages, to: &small) }
        self.small = small
        var long: [UInt8] = []
        for _ in 0..<64 { Self.append(Sample.random(Self.payloadSize), to: &long) }
        self.long = long
    }

    /// The messages of an upload: two from the client, and one from the server.
    private static func messages(_ digest: Digest) -> [Message] {
        let id = UploadID.random()
        let begin = Begin(
            id: id, path: "holiday/day-1/picture-0001.jpg", size: UInt64(contentSize), kind: .picture,
            modified: Timestamp(seconds: 1_767_225_600, nanoseconds: 500_000_000), permissions: 0o644)
        let end = End(size: UInt64(contentSize), digest: digest)
        let result = UploadResult(
            id: id, code: .committed, isDurable: true, size: UInt64(contentSize), digest: digest)
        return [.begin(begin), .end(end), .result(result)]
    }

    private static func append(_ content: [UInt8], _ messages: [Message], to bytes: inout [UInt8]) {
        messages[0].encode(into: &bytes)
        append(content, to: &bytes)
        messages[1].encode(into: &bytes)
    }

    private static func append(_ content: [UInt8], to bytes: inout [UInt8]) {
        FrameHeader(.data, bodyLength: content.count).encode(into: &bytes)
        bytes += content
    }

    func rates() throws -> [Figure] {
        let frames = Double(Self.uploads * 3)
        let parsed = try Rate.perSecond(frames / 1e6) { try parse(small) }
        let passed = try Rate.perSecond(Double(long.count) / 1e9) { try parse(long) }
        let encoded = Rate.perSecond(Double(Self.uploads * messages.count) / 1e6) { encode(Self.uploads) }
        return [
            Figure(name: "Parse the frames of uploads of 4 KiB", value: parsed, unit: "million frames/s"),
            Figure(name: "Parse data frames of 256 KiB (copies nothing)", value: passed, unit: "GB/s"),
            Figure(name: "Encode begin, end and result", value: encoded, unit: "million messages/s"),
        ]
    }

    func allocations() throws -> [Figure] {
        let before = callocations_count()
        try parse(small)
        let between = callocations_count()
        encode(Self.uploads)
        let after = callocations_count()
        let uploads = Double(Self.uploads)
        let unit = Thresholds.unit
        return [
            Figure(name: "Parse begin, data and end", value: Double(between - before) / uploads, unit: unit),
            Figure(name: "Encode begin, end and result", value: Double(after - between) / uploads, unit: unit),
        ]
    }

    private func parse(_ bytes: [UInt8]) throws {
        var parser = FrameParser()
        let span = bytes.span.bytes
        var offset = 0
        while offset < span.byteCount {
            switch try parser.next(span.extracting(offset..<span.byteCount)) {
            case .needsMore: throw BenchmarkFailure("The frames end too early.")
            case .message(let message, let consumed):
                keep(message)
                offset += consumed
            case .data(let piece, let consumed):
                keep(piece)
                offset += consumed
            }
        }
    }

    /// Encodes into one buffer that is used repeatedly, as the sessions do.
    private func encode(_ uploads: Int) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024)
        for _ in 0..<uploads {
            bytes.removeAll(keepingCapacity: true)
            for message in messages { message.encode(into: &bytes) }
        }
        keep(bytes)
    }
}
