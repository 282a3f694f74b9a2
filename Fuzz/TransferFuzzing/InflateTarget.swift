import TransferCodec

/// Input: task (1 byte, see `Task`), sizes of the pieces in and out and the limit (5 bytes), a stream or content.
///
/// If one library can inflate a stream, the others must give equal bytes, with one exception: ISA-L reads streams with
/// incomplete Huffman codes, which zlib calls damaged.
enum InflateTarget {
    private enum Task: UInt8 {
        /// The rest is a stream.
        case inflate
        /// The rest is a stream, whose checksum is corrected.
        case mend
        /// The rest is content to be deflated first.
        case deflate
    }

    private struct Cuts {
        let input: Int
        let output: Int
        let limit: Int

        init(_ input: inout FuzzInput) {
            self.input = Int(input.byte()) + 1
            output = Int(input.integer(UInt16.self) % 5000) + 1
            limit = Int(input.integer(UInt16.self))
        }
    }

    /// The largest number of bytes of content to compare: more would take long and not find more faults.
    private static let mostContent = 64 << 10

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let task = Task(rawValue: input.byte() % 3) ?? .inflate
        let level = bytes.first.map { Int($0 / 3 % 4) } ?? 0
        let cuts = Cuts(&input)
        let rest = input.rest()
        switch task {
        case .inflate: try compare(rest, cuts)
        case .mend: try compare(mended(rest), cuts)
        case .deflate: try deflate(rest, level: level, cuts)
        }
    }

    /// Compares all libraries, with the stream in pieces and at once.
    private static func compare(_ stream: [UInt8], _ cuts: Cuts) throws(Finding) {
        let zlib = try same(stream, .zlib, cuts)
        for engine in CompressionEngine.available where engine != .zlib {
            let other = try same(stream, engine, cuts)
            guard zlib.error == nil else { continue }
            try require(other == zlib, "\(engine) reads otherwise what zlib reads: \(String(describing: other.error)).")
        }
    }

    /// - Returns: the result of inflating at once.
    private static func same(_ stream: [UInt8], _ engine: CompressionEngine, _ cuts: Cuts) throws(Finding) -> Inflated {
        let inflater = Inflater(engine: engine)
        let whole = try Inflated(
            stream, inflater, limit: cuts.limit, inputCut: max(1, stream.count), outputCut: mostContent)
        let pieces = try Inflated(
            stream, inflater, limit: cuts.limit, inputCut: cuts.input, outputCut: cuts.output)
        // Which of two faults is found first depends on how far a library looks ahead.
        let isSame = whole.error == nil ? pieces == whole : pieces.error != nil
        try require(isSame, "\(engine): in pieces it is \(String(describing: pieces.error)).")
        return whole
    }

    /// Replaces the checksum (Adler-32, RFC 1950) by that of the inflated content: otherwise hardly any stream of a
    /// fuzzer would be read to its end.
    private static func mended(_ stream: [UInt8]) throws(Finding) -> [UInt8] {
        guard stream.count > 6 else { return stream }
        let content = try Inflated(
            stream.dropLast(4), Inflater(engine: .zlib), limit: mostContent, inputCut: 1, outputCut: 4096
        ).content
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in content {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        return stream.dropLast(4) + [b >> 8, b, a >> 8, a].map { UInt8(truncatingIfNeeded: $0) }
    }

    private static func deflate(_ content: [UInt8], level: Int, _ cuts: Cuts) throws(Finding) {
        for engine in CompressionEngine.available {
            var output = [UInt8](repeating: 0, count: content.count + content.count / 8 + 1024)
            let length = content.withUnsafeBytes { input in
                output.withUnsafeMutableBytes { Deflater(level: level, engine: engine).deflate(input, into: $0) }
            }
            guard let length else { throw Finding("\(engine) needs far more room than the content takes.") }
            let stream = Array(output[..<length])
            try compare(stream, cuts)
            for reader in CompressionEngine.available {
                let inflated = try Inflated(
                    stream, Inflater(engine: reader), limit: content.count, inputCut: cuts.input, outputCut: 4096)
                try require(
                    inflated.error == nil && inflated.content == content, "\(reader) cannot read what \(engine) wrote.")
            }
        }
    }
}
