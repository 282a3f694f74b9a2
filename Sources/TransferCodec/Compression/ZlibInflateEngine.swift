internal import CZlib

/// Inflates with zlib; holds some 40 KB once used.
final class ZlibInflateEngine: InflateEngine {
    private let stream = ZlibStream()

    deinit {
        stream.free(inflateEnd)
    }

    func begin() {
        stream.run(inflateReset)
    }

    func inflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> InflateStep {
        let step = stream.step(from: input, into: output) { CZlib.inflate($0, Z_NO_FLUSH) }
        return InflateStep(outcome: Self.outcome(step.status), read: step.read, written: step.written)
    }

    private static func outcome(_ status: Int32) -> InflateStep.Outcome {
        switch status {
        // Z_BUF_ERROR only says that there was nothing to do for want of input or room.
        case Z_OK, Z_BUF_ERROR: .more
        case Z_STREAM_END: .complete
        case Z_DATA_ERROR, Z_NEED_DICT: .corrupt
        // It takes memory when it is first used (Z_MEM_ERROR); then this frame fails and no other.
        default: .corrupt
        }
    }
}
