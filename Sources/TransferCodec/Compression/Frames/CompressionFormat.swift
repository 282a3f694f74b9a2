/// Format of a compressed frame.
package enum CompressionFormat: CaseIterable, Sendable {
    /// A zlib stream (RFC 1950).
    case zlib
    /// A zstd frame (RFC 8878).
    case zstd
}

/// Format and level of compression.
package struct CompressionMethod: Hashable, Sendable {
    package let format: CompressionFormat
    /// 1 (fast) to 9 (small), on the scale of the library for the format.
    package let level: Int

    package init(_ format: CompressionFormat, level: Int = 1) {
        (self.format, self.level) = (format, min(max(1, level), 9))
    }

    /// A method that is twice as fast as `small`, with 12 % larger output on log text (docs/PERFORMANCE.md).
    package static let fast = CompressionMethod(.zstd, level: 1)

    /// A method with the highest useful level: above it, zstd takes longer without making frames of 256 KiB smaller
    /// (docs/PERFORMANCE.md).
    package static let small = CompressionMethod(.zstd, level: 4)
}
