internal import CZstd

/// Compresses frames, each into a zstd frame (RFC 8878) of its own, with the size of its content and without a checksum: the
/// content has a digest.
///
/// It belongs to one task at a time. For frames of 256 KiB it holds 0.6 MB at level 1, 1.3 MB at level 4 and 3.6 MB from level 6
/// on (`ZSTD_sizeof_CCtx` of 1.5.4).
final class ZstdEncoder: DeflateEngine {
    /// What a caller may ask for: the same scale as zlib's, of libzstd's -131,072 to 22.
    static let levels = 1...9

    private let context: OpaquePointer

    init(level: Int) {
        // Trap: levels are ours; the command line checks those of people.
        precondition(Self.levels.contains(level), "zstd is not used with level \(level)")
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = ZSTD_createCCtx() else { preconditionFailure("out of memory") }
        self.context = context
        let status = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level))
        // Trap: a level within ZSTD_minCLevel and ZSTD_maxCLevel is taken (zstd.h).
        precondition(ZSTD_isError(status) == 0, "zstd refused level \(level)")
    }

    deinit {
        ZSTD_freeCCtx(context)
    }

    /// Wants some bytes more than the frame takes in the end.
    func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        let count = ZSTD_compress2(context, output.baseAddress, output.count, input.baseAddress, input.count)
        // All errors but want of room are of memory; then the content is sent as it is.
        return ZSTD_isError(count) == 0 && count <= output.count ? count : nil
    }
}
