/// `Content-Range` (RFC 9110, section 14.4).
package enum ContentRange {
    /// Of a part.
    ///
    /// - Parameter range: not empty, and within the size.
    package static func text(_ range: Range<UInt64>, size: UInt64) -> String {
        // Trap: ranges come from `ByteRanges.answer`, which gives no empty ones.
        precondition(!range.isEmpty && range.upperBound <= size, "a range outside its content")
        return "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }

    /// Of a 416: what there would be.
    package static func unsatisfied(size: UInt64) -> String { "bytes */\(size)" }
}
