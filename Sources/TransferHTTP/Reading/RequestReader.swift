/// Reads the requests of one connection, by RFC 9110 and RFC 9112. It does no I/O and reads no clock.
///
/// A caller shows the bytes that it has, takes one step, drops what was consumed, and asks again until `needsMore`;
/// then it shows what is left with more behind it. `needsMore` can have consumed something too. What is left is never
/// more than `window` bytes. However the stream is cut, the steps are the same, except that content comes in other
/// pieces. Each byte is looked at once.
///
/// What two servers could read in two ways is refused. A caller answers with the fault's status and closes.
package struct RequestReader: Sendable {
    private enum State {
        case requestLine
        case fields
        case body
    }

    /// Bytes that a caller has to be able to show at once.
    package static let window = HTTPLimits.firstLine + 2

    private var state = State.requestLine
    private var fault: HTTPFault?
    private var emptyLines = 0
    private var search = LineSearch()
    private var line: RequestLine?
    private var section = FieldSection()
    private var body = BodyReader(.none)

    package init() {}

    /// Whether the stream may end here without cutting a request, given that no bytes are left over.
    package var isBetweenRequests: Bool {
        if case .requestLine = state { fault == nil && !search.isWithinLine } else { false }
    }

    /// Takes one step.
    ///
    /// - Throws: what to answer when the request is refused: 400, 413, 414, 417, 431, 501 or 505; the same for ever
    ///   after.
    package mutating func next(
        _ bytes: UnsafeRawBufferPointer
    ) throws(HTTPFault) -> (step: RequestStep, consumed: Int) {
        if let fault { throw fault }
        do throws(HTTPFault) {
            var position = 0
            let step = try step(bytes, &position)
            return (step, position)
        } catch {
            fault = error
            throw error
        }
    }

    private mutating func step(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> RequestStep {
        switch state {
        case .requestLine:
            guard try requestLine(bytes, &position) else { return .needsMore }
            return try head(bytes, &position)
        case .fields: return try head(bytes, &position)
        case .body:
            switch try body.next(in: bytes, at: &position) {
            case .needsMore: return .needsMore
            case .content(let range): return .content(range)
            case .end(let trailers):
                state = .requestLine
                return .end(trailers)
            }
        }
    }

    /// - Returns: whether the line was complete.
    private mutating func requestLine(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> Bool {
        while true {
            switch try search.next(in: bytes, from: position, limit: HTTPLimits.firstLine) {
            case .incomplete: return false
            case .tooLong:
                throw RequestLine.fault(longLine: UnsafeRawBufferPointer(rebasing: bytes[position...]))
            case .line(let range) where range.isEmpty:
                guard emptyLines < HTTPLimits.emptyLines else {
                    throw HTTPFault(400, "There are too many empty lines in front of a request.")
                }
                emptyLines += 1
                position = range.upperBound + 2
            case .line(let range):
                let line = try RequestLine(UnsafeRawBufferPointer(rebasing: bytes[range]))
                position = range.upperBound + 2
                (self.line, section) = (line, FieldSection(headAfter: line.size))
                (state, emptyLines) = (.fields, 0)
                return true
            }
        }
    }

    private mutating func head(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> RequestStep {
        guard try section.next(in: bytes, at: &position), let line else { return .needsMore }
        let head = RequestHead(line.method, line.target, version: line.version, fields: section.fields)
        let framing = try head.checked()
        (state, body, section) = (.body, BodyReader(framing), FieldSection())
        return .head(head, framing)
    }
}
