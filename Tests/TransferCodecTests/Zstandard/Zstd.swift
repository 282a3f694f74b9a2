import CZstd
import Testing
import TransferCodec

/// The other side of a round trip: libzstd itself, with all options of a frame.
enum Zstd {
    static func compress(
        _ content: [UInt8], level: Int = 3, checksum: Bool = false, saysSize: Bool = true, windowLog: Int? = nil
    ) throws -> [UInt8] {
        let context = try #require(ZSTD_createCCtx())
        defer { ZSTD_freeCCtx(context) }
        var parameters = [(ZSTD_c_compressionLevel, level), (ZSTD_c_checksumFlag, checksum ? 1 : 0)]
        parameters += [(ZSTD_c_contentSizeFlag, saysSize ? 1 : 0)]
        if let windowLog { parameters += [(ZSTD_c_windowLog, windowLog)] }
        for (parameter, value) in parameters {
            try #require(ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, Int32(value))) == 0)
        }
        var frame = [UInt8](repeating: 0, count: ZSTD_compressBound(content.count))
        let count = ZSTD_compress2(context, &frame, frame.count, content, content.count)
        try #require(ZSTD_isError(count) == 0)
        return Array(frame.prefix(count))
    }

    static func decompress(_ frame: [UInt8], count: Int) throws -> [UInt8] {
        var content = [UInt8](repeating: 0, count: max(1, count))
        let written = ZSTD_decompress(&content, content.count, frame, frame.count)
        try #require(ZSTD_isError(written) == 0)
        return Array(content.prefix(written))
    }

    static func decode(
        _ frame: [UInt8], with decoder: ZstdDecoder, limit: Int = 1 << 20
    ) throws(CodecError) -> [UInt8] {
        try frame.withUnsafeBytes { bytes in
            Result { () throws(CodecError) in Array(try decoder.decode(bytes, limit: limit)) }
        }.get()
    }

    /// A frame made by hand: the bytes behind the magic number, and blocks of raw bytes.
    static func frame(_ header: [UInt8], _ blocks: [[UInt8]]) -> [UInt8] {
        var frame = [0x28, 0xb5, 0x2f, 0xfd] + header
        for (index, block) in blocks.enumerated() {
            let field = UInt32(block.count << 3) | (index == blocks.count - 1 ? 1 : 0)
            frame += [field, field >> 8, field >> 16].map { UInt8(truncatingIfNeeded: $0) } + block
        }
        return frame
    }

    /// A skippable frame has four bytes of length and no content.
    static let skippable: [UInt8] = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
}
