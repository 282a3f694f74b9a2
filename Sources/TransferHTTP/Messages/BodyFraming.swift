/// How the end of the content is known (RFC 9112, section 6.3).
package enum BodyFraming: Equatable, Sendable {
    /// There is no content. Of a request: neither a length nor chunks were declared.
    case none
    /// Bytes, 0 to `HTTPLimits.length`.
    case length(UInt64)
    /// Chunks until the last one, then trailers.
    case chunked
    /// Until the connection closes: of answers only.
    case untilClose
}
