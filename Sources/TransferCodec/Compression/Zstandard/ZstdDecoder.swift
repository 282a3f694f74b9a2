internal import CZstd

/// Expands whole zstd frames (RFC 8878), one at a time and never beyond a limit.
///
/// One task at a time may use it. It holds 95 KB and memory for the content, and keeps no state of a frame. A few of
/// them serve all connections: see `ZstdDecoderPool`.
///
/// `@unchecked Sendable`: its pool lends it to one thread at a time.
package final class ZstdDecoder: @unchecked Sendable {
    private let context: OpaquePointer
    private let output: UnsafeMutableRawBufferPointer

    /// Most bytes of content in a frame.
    var capacity: Int { output.count }

    /// - Parameter capacity: most bytes of content in a frame.
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
    /// - Parameter limit: most bytes of content and of the window; never more than the capacity.
    /// - Returns: the content, valid until the next call.
    /// - Throws: `corrupt` unless `frame` is exactly one frame without a dictionary whose content has the declared size
    ///   and checksum; `tooLarge` if its content or its window is larger than the limit.
    package func decode(
        _ frame: UnsafeRawBufferPointer, limit: Int
    ) throws(CodecError) -> UnsafeRawBufferPointer {
        let header = try ZstdFrameHeader(frame)
        let limit = min(limit, output.count)
        guard header.windowSize <= UInt64(limit), header.contentSize ?? 0 <= UInt64(limit) else { throw .tooLarge }
        // A frame ends with its last block or its checksum. Without this check, a second frame after it would also be
        // decoded.
        guard ZSTD_findFrameCompressedSize(frame.baseAddress, frame.count) == frame.count else { throw .corrupt }
        // If a frame declares how large the content is, the content must not exceed that.
        let room = header.contentSize.map { Int($0) } ?? limit
        let count = ZSTD_decompressDCtx(context, output.baseAddress, room, frame.baseAddress, frame.count)
        guard ZSTD_isError(count) == 0, count <= room else {
            let isTooLong = header.contentSize == nil && ZSTD_getErrorCode(count) == ZSTD_error_dstSize_tooSmall
            throw isTooLong ? .tooLarge : .corrupt
        }
        return UnsafeRawBufferPointer(rebasing: output[..<count])
    }
}
