/// Reads the requests of one connection (RFC 9110 and RFC 9112). No I/O and no clock.
///
/// A caller passes its bytes, takes one step, drops the consumed bytes, and repeats this until `needsMore`, which may
/// also have consumed bytes. Then it passes the remaining bytes, at most `window`, followed by more. The steps do not
/// depend on where the stream is cut, except that content is divided into other pieces. Each byte is examined once.
///
/// Ambiguous requests, which two servers could read differently, are refused. The caller answers with the fault's
/// status and closes.
package struct RequestReader: Sendable {
    /// Bytes that a caller must be able to pass at once.
    package static let window = HTTPLimits.firstLine + 2

    private var reader = MessageReader<RequestLine>()
    private var fault: HTTPFault?

    package init() {}

    /// Whether the stream may end here, with no bytes left, without cutting a request.
    package var isBetweenRequests: Bool { fault == nil && reader.isBetweenMessages }

    /// Parses the next item.
    ///
    /// - Throws: the answer for a refused request: 400, 413, 414, 417, 431, 501 or 505. Every later call throws the
    ///   same.
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
        switch try reader.next(bytes, &position) {
        case .needsMore: return .needsMore
        case .head(let line, let fields):
            let head = RequestHead(line.method, line.target, version: line.version, fields: fields)
            let framing = try head.checked()
            reader.begin(framing)
            return .head(head, framing)
        case .content(let range): return .content(range)
        case .end(let trailers): return .end(trailers)
        }
    }
}

/// Result of one step of a `RequestReader`. Each request gives `head`, any number of `content`, and `end`.
package enum RequestStep: Equatable, Sendable {
    /// The remaining bytes are not complete.
    case needsMore
    case head(RequestHead, BodyFraming)
    /// Range of content in the passed bytes, without framing; never empty.
    case content(Range<Int>)
    /// The request is complete. The fields are trailers, which must never be treated as fields of the head.
    case end(HTTPFields)
}
