import TransferCodec

/// Deflating and inflating frames of 256 KiB of log text.
struct CodecBenchmark {
    private static let frameSize = 256 << 10

    /// The compression level of the client.
    private static let level = 1

    private let text = Sample.log(frameSize)

    func rates() throws -> [Figure] {
        var deflated = [UInt8](repeating: 0, count: Self.frameSize)
        let deflater = Deflater(level: Self.level)
        guard let length = deflate(deflater, &deflated) else { throw BenchmarkFailure("The text does not shrink.") }
        let megabytes = Double(Self.frameSize) / 1e6
        let deflating = Rate.perSecond(megabytes) { keep(deflate(deflater, &deflated)) }
        var inflated = [UInt8](repeating: 0, count: Self.frameSize)
        let inflater = Inflater()
        let frame = Array(deflated[..<length])
        let inflating = try Rate.perSecond(megabytes) { try inflate(inflater, frame, &inflated) }
        guard inflated == text else { throw BenchmarkFailure("The text came back as another one.") }
        let ratio = Double(Self.frameSize) / Double(length)
        return [
            Figure(name: "Deflate log text", value: deflating, unit: "MB/s"),
            Figure(name: "Inflate it", value: inflating, unit: "MB/s"),
            Figure(name: "Its size before, divided by the size after", value: ratio, unit: ""),
        ]
    }

    private func deflate(_ deflater: Deflater, _ output: inout [UInt8]) -> Int? {
        output.withUnsafeMutableBytes { output in text.withUnsafeBytes { deflater.deflate($0, into: output) } }
    }

    private func inflate(_ inflater: Inflater, _ frame: [UInt8], _ output: inout [UInt8]) throws {
        inflater.begin(limit: Self.frameSize)
        var consumed = 0
        try output.withUnsafeMutableBytes { output in
            try frame.withUnsafeBytes { frame in
                var written = 0
                while consumed < frame.count {
                    let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
                    written += try inflater.inflate(frame, consumed: &consumed, into: room)
                }
            }
        }
        try inflater.finish()
    }
}
