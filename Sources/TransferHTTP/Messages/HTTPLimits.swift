/// What a peer of HTTP/1 can make this side hold, each checked before anything is kept of it. Line ends are not counted
/// in lines, and are counted in heads and trailers.
package enum HTTPLimits {
    /// Bytes of a request line or a status line: RFC 9112, section 3, recommends at least 8000.
    package static let firstLine = 8 << 10

    /// Bytes of a method: that of the longest in IANA's registry is 17 (`UPDATEREDIRECTREF`, RFC 4437).
    package static let method = 32

    /// Bytes of one field line. RFC 9110, section 5.4, names no number; this is what Apache and nginx take.
    package static let fieldLine = 8 << 10

    /// Field lines of a head: Apache's `LimitRequestFields`. Browsers send some twenty.
    package static let fields = 100

    /// Bytes of a head with its first line and the empty one: four lines of the longest, as nginx has it.
    package static let head = 32 << 10

    /// Empty lines that are skipped in front of a request line: RFC 9112, section 2.2, wants one at least.
    package static let emptyLines = 2

    /// Field lines of trailers: digests and signatures are some three.
    package static let trailerFields = 16

    /// Bytes of trailers with the empty line at their end, and so of one line of them.
    package static let trailers = 4 << 10

    /// Hexadecimal digits of a chunk's size: those of 64 bits.
    package static let chunkDigits = 16

    /// Bytes of the extensions of one chunk: RFC 9112, section 7.1.1, wants a bound. No client known here sends any.
    package static let chunkExtensions = 256

    /// Bytes of content, and of one chunk: files are no longer (`off_t`).
    package static let length = UInt64(Int64.max)

    /// Decimal digits of that.
    static let lengthDigits = 19

    /// The largest port (RFC 9293, section 3.1: 16 bits), and its digits.
    static let port = 65535
    static let portDigits = 5
}
