/// Expands compressed frames that arrive in pieces. Each connection has one.
///
/// A zlib stream is inflated as it arrives, through a buffer of fixed size. A zstd frame is kept until it is complete,
/// and then decoded by one of a few shared decoders. A decoder's window may be as large as the content: if each
/// connection had a decoder, a header of six bytes would be enough to allocate that memory. A kept frame takes only as
/// much memory as the peer has really sent.
///
/// No memory is held before the first frame, and between frames none for zstd.
///
/// `@unchecked Sendable`: its connection passes it one batch at a time, so that no two threads use it at once.
package final class FrameExpansion: @unchecked Sendable {
    /// Position of a piece in its frame.
    package struct Place {
        let isFirst: Bool
        let isLast: Bool

        package init(isFirst: Bool, isLast: Bool) {
            (self.isFirst, self.isLast) = (isFirst, isLast)
        }
    }

    private let limit: Int
    private lazy var inflater = Inflater()
    private lazy var output = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.outputSize, alignment: 64)
    private var hasOutput = false
    /// Bytes of an incomplete zstd frame.
    private var kept: [UInt8] = []

    /// Size of the buffer for inflating.
    private static let outputSize = 128 << 10

    /// - Parameter limit: most bytes of content in a frame; the limit is the same in the whole process.
    package init(limit: Int) {
        self.limit = limit
    }

    deinit {
        if hasOutput { output.deallocate() }
    }

    /// Expands the next piece of a frame.
    ///
    /// - Parameters:
    ///   - fault: converts a codec error to an error of the caller's type.
    ///   - sink: receives content that is valid only during the call.
    /// - Throws: errors from `fault` and from the sink. The caller must not pass the rest of the frame after an error.
    package func expand<E: Error>(
        _ piece: UnsafeRawBufferPointer, _ place: Place, _ format: CompressionFormat, fault: (CodecError) -> E,
        into sink: (UnsafeRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        if place.isFirst { kept = [] }
        switch format {
        case .zlib: try inflate(piece, place, fault, sink)
        case .zstd where place.isFirst && place.isLast: try decode(piece, fault, sink)
        case .zstd:
            kept.append(contentsOf: piece)
            guard place.isLast else { return }
            let whole = kept
            kept = []
            try whole.span.bytes.withUnsafeBytes { (bytes) throws(E) in try decode(bytes, fault, sink) }
        }
    }

    private func decode<E: Error>(
        _ frame: UnsafeRawBufferPointer, _ fault: (CodecError) -> E, _ sink: (UnsafeRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        try ZstdDecoderPool.lend(capacity: limit) { (decoder) throws(E) in
            try sink(try codec(fault) { () throws(CodecError) in try decoder.decode(frame, limit: limit) })
        }
    }

    private func inflate<E: Error>(
        _ piece: UnsafeRawBufferPointer, _ place: Place, _ fault: (CodecError) -> E,
        _ sink: (UnsafeRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        hasOutput = true
        if place.isFirst { inflater.begin(limit: limit) }
        var consumed = 0
        while true {
            let rest = UnsafeRawBufferPointer(rebasing: piece[consumed...])
            var taken = 0
            let produced = try codec(fault) { () throws(CodecError) in
                try inflater.inflate(rest, consumed: &taken, into: output)
            }
            consumed += taken
            try sink(UnsafeRawBufferPointer(rebasing: output[..<produced]))
            if consumed == piece.count, produced < output.count { break }
        }
        if place.isLast { try codec(fault) { () throws(CodecError) in try inflater.finish() } }
    }

    private func codec<T, E: Error>(_ fault: (CodecError) -> E, _ body: () throws(CodecError) -> T) throws(E) -> T {
        do throws(CodecError) { return try body() } catch { throw fault(error) }
    }
}
