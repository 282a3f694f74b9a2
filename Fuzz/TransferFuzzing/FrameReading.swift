import TransferModel
import TransferProtocol

/// Result of the parser for a stream that arrives in pieces, with the pieces of each body joined.
struct FrameReading: Equatable {
    enum Frame: Equatable {
        case message(Message)
        /// The range of the body in the stream; `isWhole` if all of the body has arrived.
        case data(BodyEncoding, Range<Int>, isWhole: Bool)
    }

    private(set) var frames: [Frame] = []
    private(set) var fault: ProtocolFault?
    private(set) var consumed = 0
    private(set) var isBetweenFrames = true

    /// - Parameter ends: how many bytes of the stream have arrived before each read, increasing.
    init(_ stream: [UInt8], arrivingUpTo ends: some Sequence<Int>) throws(Finding) {
        var parser = FrameParser()
        for end in ends {
            while fault == nil {
                guard let step = next(&parser, stream, upTo: end) else { break }
                guard case .needsMore = step else {
                    try join(step, upTo: end)
                    continue
                }
                break
            }
        }
        isBetweenFrames = parser.isBetweenFrames
    }

    /// - Returns: nil after a fault.
    private mutating func next(_ parser: inout FrameParser, _ stream: [UInt8], upTo end: Int) -> FrameParser.Step? {
        do throws(ProtocolFault) {
            return try parser.next(stream.span.bytes.extracting(consumed..<end))
        } catch {
            fault = error
            return nil
        }
    }

    private mutating func join(_ step: FrameParser.Step, upTo end: Int) throws(Finding) {
        switch step {
        case .needsMore: return
        case .message(let message, let count):
            try take(count, upTo: end)
            frames.append(.message(message))
        case .data(let piece, let count):
            try require((0...count).contains(piece.range.upperBound), "A piece ends behind what was consumed.")
            let range = piece.range.lowerBound + consumed..<piece.range.upperBound + consumed
            try take(count, upTo: end)
            try join(piece, range)
        }
    }

    private mutating func take(_ count: Int, upTo end: Int) throws(Finding) {
        try require(count > 0 && count <= end - consumed, "A step took \(count) of \(end - consumed) bytes.")
        consumed += count
    }

    private mutating func join(_ piece: DataPiece, _ range: Range<Int>) throws(Finding) {
        guard !piece.isFirst else { return frames.append(.data(piece.encoding, range, isWhole: piece.isLast)) }
        guard case .data(piece.encoding, let before, isWhole: false)? = frames.last,
            before.upperBound == range.lowerBound
        else { throw Finding("A piece doesn't continue the one before.") }
        frames[frames.count - 1] = .data(
            piece.encoding, before.lowerBound..<range.upperBound, isWhole: piece.isLast)
    }
}
