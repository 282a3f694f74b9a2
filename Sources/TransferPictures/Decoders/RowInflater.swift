internal import CZlib

/// Inflates one zlib stream (RFC 1950) exactly as far as rows need it.
///
/// `TransferCodec`'s inflater refuses streams that are too long or damaged at their end. Pictures with such streams are
/// shown, so here all bytes count that came before the fault, and those that no row needs are never inflated.
final class RowInflater {
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether the end of the stream was reached.
    private(set) var isComplete = false
    /// Whether the stream is damaged behind the bytes that were inflated.
    private(set) var isDamaged = false

    init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // zlib allocates most memory at its first use, and fails there as well.
        isDamaged = czlib_inflate_init(stream) != Z_OK
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Sets the next piece of input, which the caller keeps until the next call. What is left of the piece before is
    /// dropped, so call it when `fill` has returned fewer bytes than it could.
    func give(_ input: UnsafeRawBufferPointer) {
        // Pieces are shorter than 4 GiB, because files are.
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: Bytef.self)
        stream.pointee.avail_in = UInt32(clamping: input.count)
    }

    /// Writes to the output from `start` on until it is full, the input ends, or the stream does.
    ///
    /// - Returns: the number of bytes that the output then has.
    func fill(_ output: inout [UInt8], from start: Int = 0) -> Int {
        guard !isComplete, !isDamaged, start < output.count else { return start }
        return output.withUnsafeMutableBufferPointer { output in
            stream.pointee.next_out = output.baseAddress.map { $0 + start }
            stream.pointee.avail_out = UInt32(clamping: output.count - start)
            switch inflate(stream, Z_NO_FLUSH) {
            // Z_BUF_ERROR only means that there is no input.
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: isComplete = true
            default: isDamaged = true
            }
            return output.count - Int(stream.pointee.avail_out)
        }
    }
}
