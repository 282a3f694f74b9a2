internal import CZlib

/// Inflates with zlib. Holds some 40 KB after its first use.
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
        // Z_BUF_ERROR only means that there was no input or no room.
        case Z_OK, Z_BUF_ERROR: .more
        case Z_STREAM_END: .complete
        case Z_DATA_ERROR, Z_NEED_DICT: .corrupt
        // zlib allocates memory at its first use (Z_MEM_ERROR). If that fails, only this frame fails.
        default: .corrupt
        }
    }
}
