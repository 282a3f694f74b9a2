/// Turns a byte stream into messages and pieces of `data` bodies. The result does not depend on where the stream is
/// cut.
///
/// A message is returned only when it is complete. Until then the parser consumes no bytes of it, and the caller passes
/// the same bytes again, followed by more. `data` bodies are returned in pieces as they arrive, so that a receiver
/// never holds a whole body. Only the body of a hole, four bytes, is returned whole.
///
/// ```
///   header ──message──► header
///   header ──data header──► body(remaining) ──last piece──► header
/// ```
package struct FrameParser: Sendable {
    private enum State {
        case header
        case body(encoding: BodyEncoding, remaining: Int)
    }

    private var state = State.header

    package init() {}

    /// The result of one step at the beginning of the bytes.
    package enum Step: Equatable, Sendable {
        /// The next item is not complete; no bytes were consumed.
        case needsMore
        /// A complete message of `consumed` bytes.
        case message(Message, consumed: Int)
        /// A piece of a `data` body.
        case data(DataPiece, consumed: Int)
    }

    /// Whether the stream may end here, with no bytes left, without cutting a frame.
    package var isBetweenFrames: Bool {
        if case .header = state { true } else { false }
    }

    /// Parses the next item.
    ///
    /// - Throws: errors of `FrameHeader.decode` and `Message.decode`, after which the parser must not be used.
    package mutating func next(_ bytes: RawSpan) throws(ProtocolFault) -> Step {
        switch state {
        case .header: try header(bytes)
        case .body(let encoding, let remaining):
            body(encoding, remaining, offset: 0, available: bytes.byteCount, isFirst: false)
        }
    }

    private mutating func header(_ bytes: RawSpan) throws(ProtocolFault) -> Step {
        guard let header = try FrameHeader.decode(bytes) else { return .needsMore }
        let start = header.encodedSize
        guard header.function != .data else {
            guard header.encoding != .hole else { return try hole(bytes, start) }
            let available = bytes.byteCount - start
            return body(header.encoding, header.bodyLength, offset: start, available: available, isFirst: true)
        }
        let end = start + header.bodyLength
        guard bytes.byteCount >= end else { return .needsMore }
        let message = try Message.decode(header.function, body: bytes.extracting(start..<end))
        return .message(message, consumed: end)
    }

    private func hole(_ bytes: RawSpan, _ start: Int) throws(ProtocolFault) -> Step {
        let end = start + Hole.bodySize
        guard bytes.byteCount >= end else { return .needsMore }
        _ = try bytes.extracting(start..<end).withUnsafeBytes { (body) throws(ProtocolFault) in try Hole(body) }
        return .data(DataPiece(range: start..<end, encoding: .hole, isFirst: true, isLast: true), consumed: end)
    }

    private mutating func body(
        _ encoding: BodyEncoding, _ remaining: Int, offset: Int, available: Int, isFirst: Bool
    ) -> Step {
        let length = min(remaining, available)
        guard length > 0 || isFirst else { return .needsMore }
        let isLast = length == remaining
        state = isLast ? .header : .body(encoding: encoding, remaining: remaining - length)
        let piece = DataPiece(
            range: offset..<offset + length, encoding: encoding, isFirst: isFirst, isLast: isLast)
        return .data(piece, consumed: offset + length)
    }
}

/// A piece of the body of one `data` frame.
package struct DataPiece: Equatable, Sendable {
    /// Range of the piece in the bytes that the parser received.
    package var range: Range<Int>
    package let encoding: BodyEncoding
    package let isFirst: Bool
    package private(set) var isLast: Bool

    /// - Returns: both pieces as one; nil unless `next` follows this one in the same frame and in memory.
    package func joined(with next: DataPiece) -> DataPiece? {
        guard !isLast, !next.isFirst, range.upperBound == next.range.lowerBound else { return nil }
        var joined = self
        joined.range = range.lowerBound..<next.range.upperBound
        joined.isLast = next.isLast
        return joined
    }
}
