/// The framing of several ranges in one answer, `multipart/byteranges` (RFC 9110, section 14.6).
package struct MultipartByteRanges: Equatable, Sendable {
    package let ranges: [Range<UInt64>]

    private let boundary: String
    private let heads: [[UInt8]]

    /// Size of the whole body in bytes, which is at most twice the content and some kilobytes; nil if it overflows.
    package let length: UInt64?

    /// - Parameters:
    ///   - ranges: those of `ByteRanges.Answer.ranges`.
    ///   - size: size of the content in bytes.
    ///   - contentType: type of the content.
    ///   - boundary: random, so that no content contains it: at least 128 bits as letters and digits.
    package init(_ ranges: [Range<UInt64>], size: UInt64, contentType: String, boundary: String) {
        // Trap: this program makes the boundary.
        precondition(MultipartBoundary(boundary) != nil, "no boundary")
        (self.ranges, self.boundary) = (ranges, boundary)
        heads = ranges.enumerated().map { index, range in
            Array(
                ((index == 0 ? "" : "\r\n") + "--\(boundary)\r\nContent-Type: \(contentType)\r\nContent-Range: "
                    + "\(ContentRange.text(range, size: size))\r\n\r\n").utf8)
        }
        var sum: UInt64? = UInt64(Self.end(boundary).count)
        for (range, head) in zip(ranges, heads) {
            sum = Self.sum(Self.sum(sum, UInt64(head.count)), range.upperBound - range.lowerBound)
        }
        length = sum
    }

    /// The value of the answer's `Content-Type`.
    package var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// The bytes before a range.
    package func head(of index: Int) -> [UInt8] { heads[index] }

    /// The bytes after the last range.
    package var end: [UInt8] { Self.end(boundary) }

    private static func end(_ boundary: String) -> [UInt8] { Array("\r\n--\(boundary)--\r\n".utf8) }

    private static func sum(_ a: UInt64?, _ b: UInt64) -> UInt64? {
        guard let a else { return nil }
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? nil : sum
    }
}
