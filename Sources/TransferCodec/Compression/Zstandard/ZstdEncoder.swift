internal import CZstd

/// Compresses each frame into a zstd frame (RFC 8878). The zstd frame has the size of the content but no checksum,
/// because the content has a digest.
///
/// One task at a time may use it. For frames of 256 KiB it holds 0.6 MB at level 1, 1.3 MB at level 4 and 3.6 MB from
/// level 6 on (`ZSTD_sizeof_CCtx` of 1.5.4).
final class ZstdEncoder: DeflateEngine {
    /// Permitted levels, on the same scale as zlib's. libzstd itself has levels from -131,072 to 22.
    static let levels = 1...9

    private let context: OpaquePointer

    init(level: Int) {
        // Trap: this program chooses the levels, and the command line checks levels of users.
        precondition(Self.levels.contains(level), "zstd is not used with level \(level)")
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = ZSTD_createCCtx() else { preconditionFailure("out of memory") }
        self.context = context
        let status = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level))
        // Trap: levels from ZSTD_minCLevel to ZSTD_maxCLevel are accepted (zstd.h).
        precondition(ZSTD_isError(status) == 0, "zstd refused level \(level)")
    }

    deinit {
        ZSTD_freeCCtx(context)
    }

    /// Needs room for a few more bytes than the frame finally has.
    func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        let count = ZSTD_compress2(context, output.baseAddress, output.count, input.baseAddress, input.count)
        // Any other error is a lack of memory. Then too, the content is sent uncompressed.
        return ZSTD_isError(count) == 0 && count <= output.count ? count : nil
    }
}
