/// Finds the content of one message inside its framing.
///
/// ```
///   none ──────────────────────────────────────────► over
///   length ──all of it──► over
///   chunkHead ──size──► chunk ──all of it──► chunkEnd ──CRLF──► chunkHead
///   chunkHead ──size 0──► trailers ──empty line──► over
///   untilClose ──close()──► over
/// ```
struct BodyReader {
    enum Step {
        case needsMore
        case content(Range<Int>)
        case end(HTTPFields)
    }

    private enum State {
        case length(UInt64)
        case untilClose
        case chunkHead
        case chunk(UInt64)
        case chunkEnd
        case trailers
        case over
    }

    private var state: State
    private var search = LineSearch()
    private var trailers = FieldSection()

    init(_ framing: BodyFraming) {
        state =
            switch framing {
            case .none: .over
            case .length(let length): length > 0 ? .length(length) : .over
            case .chunked: .chunkHead
            case .untilClose: .untilClose
            }
    }

    /// Ends content that extends to the end of the connection.
    ///
    /// - Returns: whether the content may end here.
    mutating func close() -> Bool {
        switch state {
        case .untilClose, .over:
            state = .over
            return true
        case .length, .chunkHead, .chunk, .chunkEnd, .trailers: return false
        }
    }

    /// - Parameter position: is moved behind the consumed bytes.
    mutating func next(in bytes: UnsafeRawBufferPointer, at position: inout Int) throws(HTTPFault) -> Step {
        while true {
            switch state {
            case .over: return .end(trailers.fields)
            case .length(let rest):
                guard let (range, rest) = Self.run(rest, in: bytes, at: &position) else { return .needsMore }
                state = rest > 0 ? .length(rest) : .over
                return .content(range)
            case .chunk(let rest):
                guard let (range, rest) = Self.run(rest, in: bytes, at: &position) else { return .needsMore }
                state = rest > 0 ? .chunk(rest) : .chunkEnd
                return .content(range)
            case .untilClose:
                guard let (range, _) = Self.run(.max, in: bytes, at: &position) else { return .needsMore }
                return .content(range)
            case .chunkHead: guard try chunkHead(bytes, &position) else { return .needsMore }
            case .chunkEnd: guard try chunkEnd(bytes, &position) else { return .needsMore }
            case .trailers:
                guard try trailers.next(in: bytes, at: &position) else { return .needsMore }
                try checkTrailers()
                state = .over
            }
        }
    }

    /// Takes as many of the `rest` bytes as are available; nil if none are.
    private static func run(
        _ rest: UInt64, in bytes: UnsafeRawBufferPointer, at position: inout Int
    ) -> (range: Range<Int>, rest: UInt64)? {
        let start = position
        let count = min(rest, UInt64(bytes.count - start))
        guard count > 0 else { return nil }
        // The count is at most `bytes.count`, which is an Int.
        position = start + Int(count)
        return (start..<position, rest - count)
    }

    private mutating func chunkHead(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> Bool {
        switch try search.next(in: bytes, from: position, limit: ChunkHead.limit) {
        case .incomplete: return false
        case .tooLong: throw ChunkHead.tooLong
        case .line(let range):
            let size = try ChunkHead.size(UnsafeRawBufferPointer(rebasing: bytes[range]))
            position = range.upperBound + 2
            state = size > 0 ? .chunk(size) : .trailers
            return true
        }
    }

    private mutating func chunkEnd(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> Bool {
        switch try search.next(in: bytes, from: position, limit: 0) {
        case .incomplete: return false
        case .tooLong: throw HTTPFault(400, "A chunk has more bytes than its size says.")
        case .line(let range):
            position = range.upperBound + 2
            state = .chunkHead
            return true
        }
    }

    /// Refuses trailers with fields that concern framing or routing (RFC 9110, section 6.5.1). This program never reads
    /// such fields there, but programs that merge trailers into the head would.
    private func checkTrailers() throws(HTTPFault) {
        for name in ["content-length", "transfer-encoding", "host"] where trailers.fields.has(name) {
            throw HTTPFault(400, "The trailers have a field that is only allowed in the head.")
        }
    }
}

/// The way in which the end of the content is found (RFC 9112, section 6.3).
package enum BodyFraming: Equatable, Sendable {
    /// No content: in a request, neither a length nor chunks were declared.
    case none
    /// This many bytes, 0 to `HTTPLimits.length`.
    case length(UInt64)
    /// Chunks up to the last one, then trailers.
    case chunked
    /// Content until the connection closes, in answers only.
    case untilClose
}
