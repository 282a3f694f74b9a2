/// Reads the answers that come to a client on one connection, as `RequestReader` reads requests. It has to be told what
/// was asked before an answer comes. Every fault has the status 502.
package struct ResponseReader: Sendable {
    /// Bytes that a caller has to be able to show at once.
    package static let window = RequestReader.window

    private var reader = MessageReader<StatusLine>()
    private var fault: HTTPFault?
    private var awaited: [HTTPMethod] = []
    private var isLast = false

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
        try guarded { (answers) throws(HTTPFault) in
            var position = 0
            let step = try answers.step(bytes, &position)
            return (step, position)
        }
    }

    /// Says that the server has closed and all that it sent was shown. Content that lasts until then is whole with
    /// this, and `end` is its next step.
    ///
    /// - Throws: when an answer is cut or missing.
    package mutating func closed() throws(HTTPFault) {
        try guarded { (answers) throws(HTTPFault) in
            if answers.reader.close() { return }
            guard answers.reader.isAtFirstLine, answers.awaited.isEmpty else {
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
        if reader.isAtFirstLine, !bytes.isEmpty, isLast || awaited.isEmpty {
            throw HTTPFault(502, "The server sends what nobody asked for.")
        }
        switch try reader.next(bytes, &position) {
        case .needsMore: return .needsMore
        case .head(let line, let fields):
            return try take(ResponseHead(line.status, reason: line.reason, version: line.version, fields: fields))
        case .content(let range): return .content(range)
        case .end(let trailers): return .end(trailers)
        }
    }

    private mutating func take(_ head: ResponseHead) throws(HTTPFault) -> ResponseStep {
        guard let method = awaited.first else { return .needsMore }
        let framing = try head.framing(for: method)
        guard !head.isInformational else {
            // Nobody here asks for another protocol.
            guard head.status != 101 else { throw HTTPFault(502, "The server switches protocols unasked.") }
            return .informational(head)
        }
        awaited.removeFirst()
        isLast = !head.isPersistent
        reader.begin(framing)
        return .head(head, framing)
    }
}

/// What one step of reading answers found. For each request come any number of `informational`, then `head`, any number
/// of `content`, and `end`.
package enum ResponseStep: Equatable, Sendable {
    /// What was not consumed is not complete.
    case needsMore
    /// An answer of 1xx, with another one behind it.
    case informational(ResponseHead)
    case head(ResponseHead, BodyFraming)
    /// Content where it lies in the bytes that were shown, without its framing; never empty.
    case content(Range<Int>)
    /// The answer is whole. The fields are trailers, which are never to be taken for fields of the head.
    case end(HTTPFields)
}
