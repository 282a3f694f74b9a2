import CZlib
import Testing
import TransferCodec

/// The other side of a round trip: zlib's own whole-buffer functions, and the loop that a caller of `Inflater` needs.
enum Zlib {
    static func compress(_ content: [UInt8], level: Int32 = -1) throws -> [UInt8] {
        var length = compressBound(UInt(content.count))
        var stream = [UInt8](repeating: 0, count: Int(length))
        try #require(compress2(&stream, &length, content, UInt(content.count), level) == Z_OK)
        return Array(stream.prefix(Int(length)))
    }

    static func uncompress(_ stream: [UInt8], count: Int) throws -> [UInt8] {
        var length = UInt(count)
        var content = [UInt8](repeating: 0, count: max(count, 1))
        try #require(CZlib.uncompress(&content, &length, stream, UInt(stream.count)) == Z_OK)
        return Array(content.prefix(Int(length)))
    }

    /// The stream that `deflater` makes of `content`, or nil if it is more than 1,000 bytes longer than the content.
    static func deflate(_ content: [UInt8], with deflater: Deflater) -> [UInt8]? {
        var stream = [UInt8](repeating: 0, count: content.count + 1000)
        let length = content.withUnsafeBytes { input in
            stream.withUnsafeMutableBytes { deflater.deflate(input, into: $0) }
        }
        return length.map { Array(stream.prefix($0)) }
    }

    /// Passes a whole frame through `inflater`; the closures decide the lengths of input pieces and output buffers.
    static func inflate(
        _ stream: [UInt8], with inflater: Inflater, limit: Int, inputCut: () -> Int = { .max },
        outputCut: () -> Int = { 4096 }
    ) throws(CodecError) -> [UInt8] {
        inflater.begin(limit: limit)
        var content: [UInt8] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(inputCut()))
            rest = rest.dropFirst(piece.count)
            try feed(piece, to: inflater, outputCut, &content)
        }
        try inflater.finish()
        return content
    }

    /// One call of `inflate`, into the first `room` bytes of `output`. A `Result` carries the error, because the
    /// arrays' closures lose its type. Checks that no more bytes are consumed than were given, also if the call fails.
    static func step(
        _ input: [UInt8], _ consumed: inout Int, with inflater: Inflater, into output: inout [UInt8], room: Int
    ) throws(CodecError) -> Int {
        defer { #expect(consumed <= input.count) }
        return try input.withUnsafeBytes { bytes in
            output.withUnsafeMutableBytes { buffer in
                Result { () throws(CodecError) in
                    let window = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(room))
                    return try inflater.inflate(bytes, consumed: &consumed, into: window)
                }
            }
        }.get()
    }

    /// Checks in passing that no byte behind the output buffer is written.
    private static func feed(
        _ piece: [UInt8], to inflater: Inflater, _ outputCut: () -> Int, _ content: inout [UInt8]
    ) throws(CodecError) {
        var consumed = 0
        var isPending = true
        while consumed < piece.count || isPending {
            let room = outputCut()
            var output = [UInt8](repeating: 0xa5, count: room + 8)
            let written = try step(piece, &consumed, with: inflater, into: &output, room: room)
            #expect(written <= room)
            #expect(output.suffix(8).allSatisfy { $0 == 0xa5 })
            content += output.prefix(written)
            isPending = written == room
        }
    }
}
