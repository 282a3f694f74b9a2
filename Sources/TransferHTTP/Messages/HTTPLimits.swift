/// Limits of what an HTTP/1 peer can make this side hold. Each is checked before anything is stored. Line ends count in
/// the limits of heads and trailers, but not in those of lines.
package enum HTTPLimits {
    /// Bytes of a request line or status line: RFC 9112, section 3, recommends at least 8000.
    package static let firstLine = 8 << 10

    /// Bytes of a method: the longest one registered with IANA has 17 (`UPDATEREDIRECTREF`, RFC 4437).
    package static let method = 32

    /// Bytes of one field line. RFC 9110, section 5.4, names no number; Apache and nginx accept the same number.
    package static let fieldLine = 8 << 10

    /// Field lines of a head: Apache's `LimitRequestFields`. Browsers send some twenty.
    package static let fields = 100

    /// Bytes of a head, including its first line and the empty one: four of the longest lines, as in nginx.
    package static let head = 32 << 10

    /// Empty lines that are skipped before a request line: RFC 9112, section 2.2, demands at least one.
    package static let emptyLines = 2

    /// Field lines of trailers: digests and signatures need about three.
    package static let trailerFields = 16

    /// Bytes of trailers, including the empty line. This limits each of their lines as well.
    package static let trailers = 4 << 10

    /// Hexadecimal digits of a chunk's size, enough for 64 bits.
    package static let chunkDigits = 16

    /// Bytes of the extensions of one chunk: RFC 9112, section 7.1.1, demands a limit. No known client sends any.
    package static let chunkExtensions = 256

    /// Bytes of content, and of one chunk: no file is longer (`off_t`).
    package static let length = UInt64(Int64.max)

    /// Decimal digits of the largest length.
    static let lengthDigits = 19

    /// The largest port (RFC 9293, section 3.1: 16 bits), and its number of digits.
    static let port = 65535
    static let portDigits = 5
}
