/// Reads the requests of one connection, by RFC 9110 and RFC 9112. It does no I/O and reads no clock.
///
/// A caller shows the bytes that it has, takes one step, drops what was consumed, and asks again until `needsMore`;
/// then it shows what is left with more behind it. `needsMore` can have consumed something too. What is left is never
/// more than `window` bytes. However the stream is cut, the steps are the same, except that content comes in other
/// pieces. Each byte is looked at once.
///
/// What two servers could read in two ways is refused. A caller answers with the fault's status and closes.
package struct RequestReader: Sendable {
    /// Bytes that a caller has to be able to show at once.
    package static let window = HTTPLimits.firstLine + 2

    private var reader = MessageReader<RequestLine>()
    private var fault: HTTPFault?

    package init() {}

    /// Whether the stream may end here without cutting a request, given that no bytes are left over.
    package var isBetweenRequests: Bool { fault == nil && reader.isBetweenMessages }

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

/// What one step of reading requests found. Of each request come `head`, any number of `content`, and `end`.
package enum RequestStep: Equatable, Sendable {
    /// What was not consumed is not complete.
    case needsMore
    case head(RequestHead, BodyFraming)
    /// Content where it lies in the bytes that were shown, without its framing; never empty.
    case content(Range<Int>)
    /// The request is whole. The fields are trailers, which are never to be taken for fields of the head.
    case end(HTTPFields)
}
