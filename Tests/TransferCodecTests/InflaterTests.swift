import Testing
import TransferCodec

@Suite struct InflaterTests {
    /// "hello hello hello hello", deflated by another zlib at level 9.
    private static let hello: [UInt8] = [
        0x78, 0xda, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1,
    ]
    private static let helloText = Array("hello hello hello hello".utf8)

    @Test(arguments: [0, 1, 1000, 65_535, 65_536, 65_537, 300_000], CompressionEngine.available)
    func cutsDoNotMatter(size: Int, engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        var generator = SplitMix64(seed: UInt64(size))
        for content in Sample.kinds(size) {
            let stream = try Zlib.compress(content)
            for longest in [50, 5000, 500_000] {
                let inflated = try Zlib.inflate(
                    stream, with: inflater, limit: size,
                    inputCut: { Int.random(in: 1...longest, using: &generator) },
                    outputCut: { Int.random(in: 1...longest, using: &generator) })
                #expect(inflated == content)
            }
        }
    }

    @Test(arguments: CompressionEngine.available, CompressionEngine.available)
    func readsWhatDeflaterWrites(reader: CompressionEngine, writer: CompressionEngine) throws {
        let inflater = Inflater(engine: reader)
        var generator = SplitMix64(seed: 7)
        let deflaters = (-1...9).map { Deflater(level: $0, engine: writer) }
        for size in [0, 1, 65_535, 65_537, 262_144, 1 << 20] {
            let contents = Sample.kinds(size)
            for deflater in size > 262_144 ? deflaters[2...4] : deflaters[...] {
                let content = contents.randomElement(using: &generator) ?? []
                let stream = try #require(Zlib.deflate(content, with: deflater))
                let inflated = try Zlib.inflate(
                    stream, with: inflater, limit: size + Int.random(in: 0...1, using: &generator),
                    inputCut: { Int.random(in: 1...100_000, using: &generator) },
                    outputCut: { Int.random(in: 1...200_000, using: &generator) })
                #expect(inflated == content)
            }
        }
    }

    @Test(arguments: [1, 7, .max], CompressionEngine.available)
    func readsByteByByte(inputCut: Int, engine: CompressionEngine) throws {
        let inflated = try Zlib.inflate(
            Self.hello, with: Inflater(engine: engine), limit: 100, inputCut: { inputCut }, outputCut: { 1 })
        #expect(inflated == Self.helloText)
    }

    @Test(arguments: [1, 23, 24, 4096], CompressionEngine.available)
    func limitIsExact(outputCut: Int, engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        for (limit, inputCut) in (0...30).flatMap({ [($0, 1), ($0, .max)] }) {
            let result = Result { () throws(CodecError) in
                try Zlib.inflate(
                    Self.hello, with: inflater, limit: limit, inputCut: { inputCut }, outputCut: { outputCut })
            }
            #expect(result == (limit < Self.helloText.count ? .failure(.tooLarge) : .success(Self.helloText)))
        }
    }

    @Test(arguments: CompressionEngine.available)
    func limitIsExactForAFrame(engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        for content in Sample.kinds(262_144) {
            let stream = try Zlib.compress(content)
            for outputCut in [65_536, 100_000, 131_072, 262_144, 300_000] {
                #expect(throws: CodecError.tooLarge) {
                    try Zlib.inflate(stream, with: inflater, limit: 262_143, outputCut: { outputCut })
                }
                let whole = try Zlib.inflate(stream, with: inflater, limit: 262_144, outputCut: { outputCut })
                #expect(whole == content)
            }
        }
    }

    @Test(arguments: CompressionEngine.available)
    func outputMayBeEmptyAtTheLimit(engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        for split in Self.hello.count - 4..<Self.hello.count {
            var output = [UInt8](repeating: 0, count: Self.helloText.count)
            inflater.begin(limit: output.count)
            let first = try feed(Array(Self.hello.prefix(split)), to: inflater, &output)
            #expect(first == (output.count, split))
            var none: [UInt8] = []
            let rest = Array(Self.hello.dropFirst(split))
            #expect(try feed(rest, to: inflater, &none) == (0, rest.count))
            try inflater.finish()
            #expect(output == Self.helloText)
        }
    }

    @Test(arguments: [1 << 16, 4 << 20], CompressionEngine.available)
    func bombIsTooLarge(room: Int, engine: CompressionEngine) throws {
        let stream = try Zlib.compress([UInt8](repeating: 0, count: 10 << 20))
        let inflater = Inflater(engine: engine)
        var output = [UInt8](repeating: 0xff, count: room)
        var (produced, consumed) = (0, 0)
        inflater.begin(limit: 1 << 20)
        #expect(throws: CodecError.tooLarge) {
            while true {
                produced += try Zlib.step(stream, &consumed, with: inflater, into: &output, room: room)
            }
        }
        #expect(produced <= 1 << 20 && consumed < stream.count)
        #expect(output.dropFirst(1 << 20).allSatisfy { $0 == 0xff })
    }

    @Test(arguments: CompressionEngine.available)
    func errorsLastUntilTheNextFrame(engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        #expect(throws: CodecError.tooLarge) { try Zlib.inflate(Self.hello, with: inflater, limit: 5) }
        var output: [UInt8] = [0]
        for _ in 0..<2 {
            #expect(throws: CodecError.tooLarge) { try feed(Self.hello, to: inflater, &output) }
            #expect(throws: CodecError.tooLarge) { try inflater.finish() }
        }
        #expect(try Zlib.inflate(Self.hello, with: inflater, limit: 23) == Self.helloText)
    }

    @Test func useBeforeBeginTraps() async {
        await #expect(processExitsWith: .failure) { try Inflater().finish() }
        await #expect(processExitsWith: .failure) {
            var consumed = 0
            _ = try Inflater().inflate(
                .init(start: nil, count: 0), consumed: &consumed, into: .init(start: nil, count: 0))
        }
    }

    private func feed(
        _ bytes: [UInt8], to inflater: Inflater, _ output: inout [UInt8]
    ) throws(CodecError) -> (written: Int, consumed: Int) {
        var consumed = 0
        let written = try Zlib.step(bytes, &consumed, with: inflater, into: &output, room: output.count)
        return (written, consumed)
    }
}
