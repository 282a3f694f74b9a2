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
