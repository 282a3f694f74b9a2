/// Expands compressed frames whose bytes come in pieces, cut anywhere. One for each connection.
///
/// zlib streams are inflated as they come, a bounded buffer at a time. A zstd frame is kept until it is whole, and then
/// decoded by one of a few decoders that all share: its window may be as large as the content, and one for each connection
/// would be memory that a header of six bytes orders. What is kept was sent, byte by byte.
///
/// It holds nothing before the first frame, and of zstd nothing between two frames.
///
/// `@unchecked Sendable`: its connection hands it one batch at a time, so no two threads are ever in it.
package final class FrameExpansion: @unchecked Sendable {
    /// Where a piece stands in its frame.
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
    /// What has come of a zstd frame.
    private var kept: [UInt8] = []

    /// Bytes that are inflated at once.
    private static let outputSize = 128 << 10

    /// - Parameter limit: bytes of content that a frame may hold, the same for all in a process.
    package init(limit: Int) {
        self.limit = limit
    }

    deinit {
        if hasOutput { output.deallocate() }
    }

    /// Takes the next piece of a frame.
    ///
    /// - Parameters:
    ///   - fault: makes the caller's error of what is wrong with the frame.
    ///   - sink: gets the content, valid during the call only.
    /// - Throws: what `fault` makes, or what the sink throws. The rest of the frame must not follow then.
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
