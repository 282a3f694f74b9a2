internal import TransferModel

/// Layout of a sealed file: sizes of content and file, and positions.
///
/// ```
/// | header | nonce, 16 | chunk 0: 64 KiB, tag 16 | … | last chunk: up to 64 KiB, tag 16 |
/// ```
package struct SealedLayout: Equatable, Sendable {
    /// Bytes of content in each chunk but the last (age, "Payload").
    package static let chunkSize = 64 << 10

    /// Bytes of a full chunk with its tag.
    package static let sealedChunkSize = chunkSize + ChunkCipher.tagSize

    static let nonceSize = 16

    /// Most bytes of content in an upload with the longest header.
    static let mostContent =
        Limits.uploadSize / UInt64(sealedChunkSize) * UInt64(chunkSize) - UInt64(SealedHeader.longest)

    /// Size of the content in bytes.
    package let contentSize: UInt64

    /// Size of the sealed file in bytes; at most `Limits.uploadSize`.
    package let sealedSize: UInt64

    /// Bytes before the first chunk: header and nonce.
    package let leadSize: UInt64

    /// Number of chunks, at least one, which is empty for empty content.
    package let chunks: UInt64

    /// - Parameters:
    ///   - contentSize: size of the content in bytes.
    ///   - headerSize: size of the header in bytes, at most `SealedHeader.longest`.
    /// - Throws: `tooLarge` if the sealed file would be longer than any upload.
    package init(contentSize: UInt64, headerSize: Int) throws(SealingError) {
        let leadSize = UInt64(max(0, headerSize)) + UInt64(Self.nonceSize)
        let chunks = max(1, Self.quotient(contentSize, Self.chunkSize))
        let (tags, isTooLong) = chunks.multipliedReportingOverflow(by: UInt64(ChunkCipher.tagSize))
        let (chunked, isLonger) = contentSize.addingReportingOverflow(tags)
        let (sealedSize, isLongest) = chunked.addingReportingOverflow(leadSize)
        guard !isTooLong, !isLonger, !isLongest, sealedSize <= Limits.uploadSize else {
            throw .tooLarge("Sealed, it would be longer than the longest upload.")
        }
        (self.contentSize, self.sealedSize, self.leadSize, self.chunks) = (contentSize, sealedSize, leadSize, chunks)
    }

    /// - Throws: `truncated` for a size that no sealed file has, `tooLarge` for one that no upload has.
    package init(sealedSize: UInt64, headerSize: Int) throws(SealingError) {
        let leadSize = UInt64(max(0, headerSize)) + UInt64(Self.nonceSize)
        guard sealedSize <= Limits.uploadSize else { throw .tooLarge("It is longer than the longest upload.") }
        guard sealedSize > leadSize else { throw .truncated }
        let chunked = sealedSize - leadSize
        let chunks = Self.quotient(chunked, Self.sealedChunkSize)
        let tags = chunks * UInt64(ChunkCipher.tagSize)
        // The last chunk has a tag, and is empty only if it is the only one.
        let last = chunked - (chunks - 1) * UInt64(Self.sealedChunkSize)
        guard last > ChunkCipher.tagSize || chunks == 1 && last == ChunkCipher.tagSize else { throw .truncated }
        (self.contentSize, self.sealedSize, self.leadSize, self.chunks) = (chunked - tags, sealedSize, leadSize, chunks)
    }

    /// The position at which sealing continues.
    package struct Position: Equatable, Sendable {
        /// Index of the chunk, from 0.
        package let chunk: UInt64
        /// Offset of the chunk's content: the first byte to read.
        package let contentOffset: UInt64
        /// Bytes of the chunk, or of header and nonce, that exist already.
        package let skipped: Int
        /// Whether header and nonce must still be written, apart from the skipped bytes.
        package let hasLead: Bool
    }

    /// - Parameter offset: bytes of the sealed file that exist already.
    /// - Throws: `tooLarge` for an offset behind the end.
    package func position(ofSealed offset: UInt64) throws(SealingError) -> Position {
        guard offset <= sealedSize else { throw .tooLarge("The offset is beyond the end of the sealed file.") }
        guard offset >= leadSize else {
            return Position(chunk: 0, contentOffset: 0, skipped: Int(offset), hasLead: true)
        }
        let chunk = min((offset - leadSize) / UInt64(Self.sealedChunkSize), chunks - 1)
        let start = leadSize + chunk * UInt64(Self.sealedChunkSize)
        return Position(
            chunk: chunk, contentOffset: chunk * UInt64(Self.chunkSize), skipped: Int(offset - start), hasLead: false)
    }

    /// The quotient rounded up, without overflow.
    private static func quotient(_ size: UInt64, _ part: Int) -> UInt64 {
        let (whole, rest) = size.quotientAndRemainder(dividingBy: UInt64(part))
        return rest == 0 ? whole : whole + 1
    }
}
