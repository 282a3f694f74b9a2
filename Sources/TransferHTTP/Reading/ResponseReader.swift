/// Reads the answers that come to a client on one connection, as `RequestReader` reads requests. It has to be told what
/// was asked before an answer comes. Every fault has the status 502.
package struct ResponseReader: Sendable {
    private enum State {
        case statusLine
        case fields
        case body
    }

    /// Bytes that a caller has to be able to show at once.
    package static let window = RequestReader.window

    private var state = State.statusLine
    private var fault: HTTPFault?
    private var awaited: [HTTPMethod] = []
    private var isLast = false
    private var search = LineSearch()
    private var line: StatusLine?
    private var section = FieldSection()
    private var body = BodyReader(.none)

    package init() {}

    /// Says that a request was sent. Answers come in the order of requests (RFC 9112, section 9.3.2). Those to CONNECT
    /// are not read here.
    package mutating func expect(_ method: HTTPMethod) {
        awaited.append(method)
    }

    /// Whether the server said that no answer comes behind the one that came last, or is coming.
    package var isLastAnswer: Bool { isLast }

    /// Takes one step.
    package mutating func next(
        _ bytes: UnsafeRawBufferPointer
    ) throws(HTTPFault) -> (step: ResponseStep, consumed: Int) {
        try guarded { (reader) throws(HTTPFault) in
            var position = 0
            let step = try reader.step(bytes, &position)
            return (step, position)
        }
    }

    /// Says that the server has closed and all that it sent was shown. Content that lasts until then is whole with
    /// this, and `end` is its next step.
    ///
    /// - Throws: when an answer is cut or missing.
    package mutating func closed() throws(HTTPFault) {
        try guarded { (reader) throws(HTTPFault) in
            if case .body = reader.state, reader.body.close() { return }
            guard case .statusLine = reader.state, reader.awaited.isEmpty else {
                throw HTTPFault(502, "The server closed the connection within an answer or before it.")
            }
        }
    }

    private mutating func guarded<Result>(
        _ body: (inout Self) throws(HTTPFault) -> Result
    ) throws(HTTPFault) -> Result {
        if let fault { throw fault }
        do throws(HTTPFault) {
            return try body(&self)
        } catch {
            let fault = HTTPFault(502, error.message)
            self.fault = fault
            throw fault
        }
    }

    private mutating func step(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> ResponseStep {
        switch state {
        case .statusLine:
            guard try statusLine(bytes, &position) else { return .needsMore }
            return try head(bytes, &position)
        case .fields: return try head(bytes, &position)
        case .body:
            switch try body.next(in: bytes, at: &position) {
            case .needsMore: return .needsMore
            case .content(let range): return .content(range)
            case .end(let trailers):
                state = .statusLine
                return .end(trailers)
            }
        }
    }

    /// - Returns: whether the line was complete.
    private mutating func statusLine(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> Bool {
        guard !bytes.isEmpty else { return false }
        guard !isLast, !awaited.isEmpty else { throw HTTPFault(502, "The server sends what nobody asked for.") }
        switch try search.next(in: bytes, from: position, limit: HTTPLimits.firstLine) {
        case .incomplete: return false
        case .tooLong: throw HTTPFault(502, "The first line has more than \(HTTPLimits.firstLine) bytes.")
        case .line(let range):
            let line = try StatusLine(UnsafeRawBufferPointer(rebasing: bytes[range]))
            position = range.upperBound + 2
            (self.line, section, state) = (line, FieldSection(headAfter: line.size), .fields)
            return true
        }
    }

    private mutating func head(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HTTPFault) -> ResponseStep {
        guard try section.next(in: bytes, at: &position), let line, let method = awaited.first else {
            return .needsMore
        }
        let head = ResponseHead(line.status, reason: line.reason, version: line.version, fields: section.fields)
        let framing = try head.framing(for: method)
        section = FieldSection()
        if head.isInformational {
            // Nobody here asks for another protocol.
            guard head.status != 101 else { throw HTTPFault(502, "The server switches protocols unasked.") }
            state = .statusLine
            return .informational(head)
        }
        awaited.removeFirst()
        (isLast, state, body) = (!head.isPersistent, .body, BodyReader(framing))
        return .head(head, framing)
    }
}
