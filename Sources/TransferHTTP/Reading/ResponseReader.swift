/// Reads the answers to a client on one connection, as `RequestReader` reads requests. The caller announces each
/// request with `expect`. Every fault has the status 502.
package struct ResponseReader: Sendable {
    /// Bytes that a caller must be able to pass at once.
    package static let window = RequestReader.window

    private var reader = MessageReader<StatusLine>()
    private var fault: HTTPFault?
    private var awaited: [HTTPMethod] = []
    private var isLast = false

    package init() {}

    /// Announces a request that was sent. Answers come in the order of requests (RFC 9112, section 9.3.2). CONNECT is
    /// not supported.
    package mutating func expect(_ method: HTTPMethod) {
        awaited.append(method)
    }

    /// Whether the latest answer, complete or not, is the last one on this connection.
    package var isLastAnswer: Bool { isLast }

    /// Parses the next item of the stream.
    package mutating func next(
        _ bytes: UnsafeRawBufferPointer
    ) throws(HTTPFault) -> (step: ResponseStep, consumed: Int) {
        try guarded { (answers) throws(HTTPFault) in
            var position = 0
            let step = try answers.step(bytes, &position)
            return (step, position)
        }
    }

    /// Reports that the server has closed the connection and that all bytes were passed. This completes content that
    /// extends to the end of the connection; the next step is then `end`.
    ///
    /// - Throws: `HTTPFault` if an answer is cut or missing.
    package mutating func closed() throws(HTTPFault) {
        try guarded { (answers) throws(HTTPFault) in
            if answers.reader.close() { return }
            guard answers.reader.isAtFirstLine, answers.awaited.isEmpty else {
                throw HTTPFault(502, "The server closed the connection before or during an answer.")
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
            throw HTTPFault(502, "The server sends data without a request.")
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
            // This client never requests another protocol.
            guard head.status != 101 else { throw HTTPFault(502, "The server switches protocols without a request.") }
            return .informational(head)
        }
        awaited.removeFirst()
        isLast = !head.isPersistent
        reader.begin(framing)
        return .head(head, framing)
    }
}

/// Result of one step of a `ResponseReader`. Each request gives any number of `informational`, then `head`, any number
/// of `content`, and `end`.
package enum ResponseStep: Equatable, Sendable {
    /// The remaining bytes are not complete.
    case needsMore
    /// An interim answer (1xx), after which another answer follows.
    case informational(ResponseHead)
    case head(ResponseHead, BodyFraming)
    /// Range of content in the passed bytes, without framing; never empty.
    case content(Range<Int>)
    /// The answer is complete. The fields are trailers, which must never be treated as fields of the head.
    case end(HTTPFields)
}
