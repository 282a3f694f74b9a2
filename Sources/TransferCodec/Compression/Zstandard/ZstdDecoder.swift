internal import CZstd

/// Expands whole zstd frames (RFC 8878), one at a time and never beyond a limit.
///
/// It belongs to one task at a time and holds 95 KB, and the memory that the content goes to; nothing of a frame stays in it.
/// So a few serve everybody: see `ZstdDecoderPool`.
///
/// `@unchecked Sendable`: its pool lends it to one thread at a time.
package final class ZstdDecoder: @unchecked Sendable {
    private let context: OpaquePointer
    private let output: UnsafeMutableRawBufferPointer

    /// Bytes of the longest content.
    var capacity: Int { output.count }

    /// - Parameter capacity: bytes of the longest content.
    package init(capacity: Int) {
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = ZSTD_createDCtx() else { preconditionFailure("out of memory") }
        self.context = context
        output = .allocate(byteCount: max(1, capacity), alignment: 64)
    }

    deinit {
        ZSTD_freeDCtx(context)
        output.deallocate()
    }

    /// Expands one frame.
    ///
    /// - Parameter limit: bytes of content that it may hold at most, and of the window that it may ask for; no more than the
    ///   capacity counts.
    /// - Returns: the content, valid until the next call.
    /// - Throws: `corrupt` unless `frame` is one whole frame without a dictionary and nothing else, whose content has the size
    ///   and the checksum that it says; `tooLarge` if it is one that holds, or asks for, more than the limit.
    package func decode(
        _ frame: UnsafeRawBufferPointer, limit: Int
    ) throws(CodecError) -> UnsafeRawBufferPointer {
        let header = try ZstdFrameHeader(frame)
        let limit = min(limit, output.count)
        guard header.windowSize <= UInt64(limit), header.contentSize ?? 0 <= UInt64(limit) else { throw .tooLarge }
        // A frame ends where its last block or its checksum does. What follows would be decoded as well.
        guard ZSTD_findFrameCompressedSize(frame.baseAddress, frame.count) == frame.count else { throw .corrupt }
        // What says how much it holds may hold no more.
        let room = header.contentSize.map { Int($0) } ?? limit
        let count = ZSTD_decompressDCtx(context, output.baseAddress, room, frame.baseAddress, frame.count)
        guard ZSTD_isError(count) == 0, count <= room else {
            let isTooLong = header.contentSize == nil && ZSTD_getErrorCode(count) == ZSTD_error_dstSize_tooSmall
            throw isTooLong ? .tooLarge : .corrupt
        }
        return UnsafeRawBufferPointer(rebasing: output[..<count])
    }
}
