internal import CZlib

/// Deflates with zlib; holds 256 KiB (zconf.h).
final class ZlibDeflateEngine: DeflateEngine {
    private let stream: ZlibStream

    /// An engine of level 0...9, or -1 for zlib's default.
    init(level: Int) {
        stream = ZlibStream(deflatingAt: level)
    }

    deinit {
        stream.free(deflateEnd)
    }

    func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        stream.run(deflateReset)
        let step = stream.step(from: input, into: output) { CZlib.deflate($0, Z_FINISH) }
        return step.status == Z_STREAM_END ? step.written : nil
    }
}
