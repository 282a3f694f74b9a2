/// Reads the messages of one direction of a connection: each has a first line, fields, and content.
///
/// ```
///   firstLine ──line──► fields ──empty line──► firstLine ──begin(framing)──► body ──end──► firstLine
/// ```
/// After a head the caller calls `begin` if content follows; otherwise the next message follows.
struct MessageReader<Line: FirstLine>: Sendable {
    enum Step {
        /// The remaining bytes are not complete.
        case needsMore
        case head(Line, HTTPFields)
        /// Range of content in the passed bytes, without framing; never empty.
        case content(Range<Int>)
        /// The message is complete. The fields are its trailers.
        case end(HTTPFields)
    }

    private enum State {
        case firstLine
        case fields(Line)
        case body
    }

    private var state = State.firstLine
    private var emptyLines = 0
    private var search = LineSearch()
    private var section = FieldSection()
    private var body = BodyReader(.none)

    /// Whether the reader expects a first line. It may already have examined a part of the line.
    var isAtFirstLine: Bool { if case .firstLine = state { true } else { false } }

    /// Whether the reader expects a first line, and no part of that line has arrived.
    var isBetweenMessages: Bool { isAtFirstLine && !search.isWithinLine }

    /// Announces that content follows the latest head.
    mutating func begin(_ framing: BodyFraming) { (state, body) = (.body, BodyReader(framing)) }

    /// Ends content that extends to the end of the connection.
    ///
    /// - Returns: whether the content may end here.
    mutating func close() -> Bool { if case .body = state { body.close() } else { false } }

    /// Parses the next item.
    ///
    /// - Parameter position: is moved behind the consumed bytes.
    mutating func next(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) throws(HTTPFault) -> Step {
        switch state {
        case .firstLine:
            guard let line = try firstLine(bytes, &position) else { return .needsMore }
            (state, section) = (.fields(line), FieldSection(headAfter: line.size))
            return try fields(behind: line, bytes, &position)
        case .fields(let line): return try fields(behind: line, bytes, &position)
        case .body:
            switch try body.next(in: bytes, at: &position) {
            case .needsMore: return .needsMore
            case .content(let range): return .content(range)
            case .end(let trailers):
                state = .firstLine
                return .end(trailers)
            }
        }
    }

    /// - Returns: nil if the line is not complete.
    private mutating func firstLine(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> Line? {
        while true {
            switch try search.next(in: bytes, from: position, limit: HTTPLimits.firstLine) {
            case .incomplete: return nil
            case .tooLong: throw Line.fault(longLine: UnsafeRawBufferPointer(rebasing: bytes[position...]))
            case .line(let range) where range.isEmpty && emptyLines < Line.emptyLines:
                emptyLines += 1
                position = range.upperBound + 2
            case .line(let range):
                let line = try Line(UnsafeRawBufferPointer(rebasing: bytes[range]))
                position = range.upperBound + 2
                emptyLines = 0
                return line
            }
        }
    }

    private mutating func fields(
        behind line: Line, _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> Step {
        guard try section.next(in: bytes, at: &position) else { return .needsMore }
        defer { section = FieldSection() }
        state = .firstLine
        return .head(line, section.fields)
    }
}
