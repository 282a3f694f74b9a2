import TransferHTTP

/// A result of a reader with content as bytes, so that results can be compared however the stream was cut.
enum HeardMessage: Equatable {
    case request(RequestHead, BodyFraming)
    case informational(ResponseHead)
    case response(ResponseHead, BodyFraming)
    case content([UInt8])
    case end(HTTPFields)
    case fault(HTTPFault)

    /// Returns nil for the step `needsMore`.
    init?(_ step: RequestStep, _ bytes: UnsafeRawBufferPointer) {
        switch step {
        case .needsMore: return nil
        case .head(let head, let framing): self = .request(head, framing)
        case .content(let range): self = .content(Array(bytes[range]))
        case .end(let trailers): self = .end(trailers)
        }
    }

    init?(_ step: ResponseStep, _ bytes: UnsafeRawBufferPointer) {
        switch step {
        case .needsMore: return nil
        case .informational(let head): self = .informational(head)
        case .head(let head, let framing): self = .response(head, framing)
        case .content(let range): self = .content(Array(bytes[range]))
        case .end(let trailers): self = .end(trailers)
        }
    }

    static func content(_ text: String) -> HeardMessage { .content(Array(text.utf8)) }

    static var end: HeardMessage { .end(HTTPFields()) }

    var fault: HTTPFault? {
        if case .fault(let fault) = self { fault } else { nil }
    }
}
