import TransferCodec

/// Result of an inflater for a stream.
struct Inflated: Equatable {
    private(set) var content: [UInt8] = []
    /// Nil if the stream was complete.
    private(set) var error: CodecError?

    /// Feeds the stream in pieces of `inputCut` bytes, with room for `outputCut` bytes at a time.
    init(_ stream: [UInt8], _ inflater: Inflater, limit: Int, inputCut: Int, outputCut: Int) throws(Finding) {
        var offset = 0
        inflater.begin(limit: limit)
        var output = [UInt8](repeating: 0, count: outputCut)
        while offset < stream.count, error == nil {
            let end = min(stream.count, offset + inputCut)
            try feed(Array(stream[offset..<end]), inflater, into: &output)
            offset = end
        }
        do throws(CodecError) {
            try inflater.finish()
        } catch {
            self.error = self.error ?? error
        }
        try require(content.count <= limit, "\(content.count) bytes came out; the limit is \(limit).")
    }

    private mutating func feed(_ piece: [UInt8], _ inflater: Inflater, into output: inout [UInt8]) throws(Finding) {
        var consumed = 0
        while true {
            let before = consumed
            switch inflate(piece, inflater, &consumed, &output) {
            case .failure(let error):
                self.error = error
                return
            case .success(let written):
                try require((0...output.count).contains(written), "\(written) bytes were written.")
                try require((before...piece.count).contains(consumed), "\(consumed) bytes were read.")
                content += output[..<written]
                if consumed == piece.count, written < output.count { return }
                // A caller that repeats a call without progress would repeat it for ever.
                try require(written > 0 || consumed > before, "Nothing happened.")
            }
        }
    }

    private func inflate(
        _ piece: [UInt8], _ inflater: Inflater, _ consumed: inout Int, _ output: inout [UInt8]
    ) -> Result<Int, CodecError> {
        Result { () throws(CodecError) in
            var room = output.mutableSpan
            return try room.withUnsafeMutableBytes { (room) throws(CodecError) in
                try piece.span.bytes.withUnsafeBytes { (input) throws(CodecError) in
                    try inflater.inflate(input, consumed: &consumed, into: room)
                }
            }
        }
    }
}
