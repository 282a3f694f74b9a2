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
