internal import TransferCodec
internal import TransferModel

/// A body that is one zlib stream (RFC 1950); one call inflates or deflates all of it.
///
/// The codec's state of 40 to 85 KiB lives only during a call, so a silent connection does not hold it.
enum WholeStream {
    /// - Parameter limit: the most bytes of output.
    /// - Throws: `corruptCompression` for anything other than one whole stream, `frameTooLarge` for more output.
    static func inflate(_ body: RawSpan, limit: Int) throws(ClassicFault) -> [UInt8] {
        do throws(CodecError) {
            return try body.withUnsafeBytes { (input) throws(CodecError) in try inflate(input, limit: limit) }
        } catch {
            switch error {
            case .corrupt: throw ClassicFault(.corruptCompression, "A compressed body is not one whole zlib stream.")
            case .tooLarge:
                throw ClassicFault(.frameTooLarge, "A body inflates to more than \(limit) bytes.")
            }
        }
    }

    private static func inflate(_ input: UnsafeRawBufferPointer, limit: Int) throws(CodecError) -> [UInt8] {
        let inflater = Inflater()
        inflater.begin(limit: limit)
        var fault: CodecError?
        // One byte more than the limit, so that the inflater always has room to write to.
        let output = [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
            do throws(CodecError) {
                count = try fill(UnsafeMutableRawBufferPointer(buffer), with: inflater, input)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return output
    }

    private static func fill(
        _ output: UnsafeMutableRawBufferPointer, with inflater: Inflater, _ input: UnsafeRawBufferPointer
    ) throws(CodecError) -> Int {
        var (consumed, written) = (0, 0)
        while true {
            let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
            let count = try inflater.inflate(input, consumed: &consumed, into: room)
            written += count
            guard consumed < input.count || count == room.count else { break }
        }
        try inflater.finish()
        return written
    }

    /// - Returns: nil if the stream is longer than `limit`.
    static func deflate(_ content: [UInt8], limit: Int) -> [UInt8]? {
        var isWhole = false
        let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let written = content.withUnsafeBytes {
                Deflater(level: 6).deflate($0, into: UnsafeMutableRawBufferPointer(buffer))
            }
            isWhole = written != nil
            count = written ?? 0
        }
        return isWhole ? output : nil
    }
}
