internal import CZlib

/// A `z_stream` at a fixed address, which zlib requires because its internal state points to the stream. The owner must
/// call `free`.
struct ZlibStream {
    private let stream: UnsafeMutablePointer<z_stream>

    /// Makes a stream that deflates; `level` is 0...9, or -1 for zlib's default.
    init(deflatingAt level: Int) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        precondition(czlib_deflate_init(stream, Int32(level)) == Z_OK, "out of memory, or no such level: \(level)")
    }

    /// Makes a stream that inflates.
    init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        precondition(czlib_inflate_init(stream) == Z_OK, "out of memory")
    }

    /// Runs `operation` of zlib from `input` into `output` and returns its status and how many bytes it read and wrote.
    /// Both buffers must be shorter than 4 GiB, because zlib counts in 32 bits.
    func step(
        from input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        _ operation: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> (status: Int32, read: Int, written: Int) {
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: Bytef.self)
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: Bytef.self)
        stream.pointee.avail_out = UInt32(output.count)
        let status = operation(stream)
        // Trap: zlib advances both counts by the bytes that it has used, and no further.
        return (status, input.count - Int(stream.pointee.avail_in), output.count - Int(stream.pointee.avail_out))
    }

    /// Runs an `operation` without input and output, such as `inflateReset`.
    func run(_ operation: (UnsafeMutablePointer<z_stream>) -> Int32) {
        let status = operation(stream)
        // Trap: a reset fails only for a stream that zlib did not make (zlib.h).
        precondition(status == Z_OK, "zlib refused with \(status)")
    }

    /// Ends the stream with zlib's `end` and frees its memory.
    func free(_ end: (UnsafeMutablePointer<z_stream>) -> Int32) {
        // deflateEnd returns Z_DATA_ERROR for an unfinished stream, which is not an error here.
        _ = end(stream)
        stream.deallocate()
    }
}
