import TransferModel
import TransferSystem

/// The messages between a server and its helper, which starts a decoder for each picture.
///
/// ```
///   server ── DecoderJob, the file, memory for the report ──► helper ── spawns ──► decoder
///          ◄───────────────── DecoderEnd ─────────────────
/// ```
struct DecoderJob: Equatable, Sendable {
    /// Bytes that a message has.
    static let length = 16

    /// Chosen by the server, which has no other running job with it.
    let number: UInt32
    let decoder: PictureDecoder

    init(number: UInt32, _ decoder: PictureDecoder) { (self.number, self.decoder) = (number, decoder) }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: UInt32(decoder.side ?? 0))
        bytes.append(bigEndian: UInt64(decoder.size))
        return bytes
    }

    /// - Returns: nil if the bytes are not those of a job.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        let span = bytes.span.bytes
        let side = span.bigEndian(at: 4, as: UInt32.self)
        guard let size = Int(exactly: span.bigEndian(at: 8, as: UInt64.self)) else { return nil }
        number = span.bigEndian(at: 0, as: UInt32.self)
        decoder = PictureDecoder(size: size, side: side == 0 ? nil : Int(side))
    }

    static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }
}

/// How a decoder has ended.
struct DecoderEnd: Equatable, Sendable {
    enum Way: UInt8, Sendable {
        /// It has written a report.
        case reported = 1
        /// The kernel has killed it, or it has ended with an error: because of the picture.
        case failed
        /// It was killed because it took too long by the clock, or by something else than its picture.
        case stopped
        /// It could not be started or confined.
        case unavailable
    }

    /// Bytes that a message has.
    static let length = 5

    let number: UInt32
    let way: Way

    init(number: UInt32, _ way: Way) { (self.number, self.way) = (number, way) }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        return bytes + [way.rawValue]
    }

    /// - Returns: nil if the bytes are not those of an end.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length, let way = Way(rawValue: bytes[4]) else { return nil }
        (number, self.way) = (bytes.span.bytes.bigEndian(at: 0, as: UInt32.self), way)
    }
}
