import Testing
import TransferCodec

/// How `Inflater` treats streams that are not complete zlib streams, with each engine and however they are cut.
@Suite struct DamagedStreamTests {
    /// "hello hello hello hello", deflated by another zlib at level 9.
    private static let hello: [UInt8] = [
        0x78, 0xda, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1,
    ]
    private static let helloText = Array("hello hello hello hello".utf8)

    /// "hello hello world", deflated with the preset dictionary "hello world".
    private static let withDictionary: [UInt8] = [
        0x78, 0xf9, 0x1a, 0x0b, 0x04, 0x5d, 0xcb, 0x00, 0x33, 0x33, 0x10, 0x02, 0x00, 0x3a, 0xa8, 0x06, 0x91,
    ]

    /// Streams of a few hundred bytes with blocks of all kinds, written by zlib and by every engine.
    private static func streams() throws -> [(content: [UInt8], stream: [UInt8])] {
        let contents = [Sample.text(400), Sample.random(80), Sample.runs(300)]
        return try contents.flatMap { content in
            let zlib = try [0, 1, 9].map { try Zlib.compress(content, level: $0) }
            let deflated = CompressionEngine.available.compactMap { engine in
                Zlib.deflate(content, with: Deflater(level: 1, engine: engine))
            }
            return (zlib + deflated).map { (content, $0) }
        }
    }

    @Test(arguments: CompressionEngine.available)
    func everyFlippedByteIsNoticed(engine: CompressionEngine) {
        let inflater = Inflater(engine: engine)
        for index in Self.hello.indices {
            for mask in UInt8(1)...255 {
                var stream = Self.hello
                stream[index] ^= mask
                expectDamage(in: stream, of: Self.helloText, limit: 64, inflater)
            }
        }
    }

    @Test(arguments: CompressionEngine.available)
    func flippedBitsAreNoticed(engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        var generator = SplitMix64(seed: 3)
        for (content, stream) in try Self.streams() {
            for index in stream.indices {
                var damaged = stream
                damaged[index] ^= 1 << UInt8.random(in: 0...7, using: &generator)
                let cut = Int.random(in: 1...2 * stream.count, using: &generator)
                expectDamage(in: damaged, of: content, limit: content.count, inflater, inputCut: cut)
            }
        }
    }

    @Test(arguments: CompressionEngine.available)
    func noiseIsCorrupt(engine: CompressionEngine) {
        let inflater = Inflater(engine: engine)
        for seed in 0..<500 as Range<UInt64> {
            let stream = [0x78, 0x9c] + Sample.random(400, seed: seed)
            expectDamage(in: stream, of: [], limit: 5000, inflater, inputCut: seed % 2 == 0 ? .max : 33)
        }
    }

    @Test(arguments: CompressionEngine.available)
    func damagedContentIsCorrupt(engine: CompressionEngine) throws {
        let content = Sample.random(200)
        var stream = try Zlib.compress(content, level: 0)
        for index in 7..<stream.count {
            stream[index] ^= 0x10
            expectCorrupt(stream, limit: 200, Inflater(engine: engine))
            stream[index] ^= 0x10
        }
    }

    @Test(arguments: [1, 3, .max], CompressionEngine.available)
    func wrongChecksumIsCorrupt(inputCut: Int, engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        for (content, stream) in try Self.streams() {
            for bit in 0..<32 {
                var damaged = stream
                damaged[stream.count - 1 - bit / 8] ^= 1 << (bit % 8)
                expectCorrupt(damaged, limit: content.count, inflater, inputCut: inputCut)
                expectCorrupt(damaged, limit: content.count + 1, inflater, inputCut: inputCut)
            }
        }
    }

    @Test(arguments: [7, 100, .max], CompressionEngine.available)
    func truncationIsCorrupt(inputCut: Int, engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        for (content, stream) in try Self.streams() {
            for count in stream.indices {
                expectCorrupt(Array(stream.prefix(count)), limit: content.count, inflater, inputCut: inputCut)
            }
        }
        for count in Self.hello.indices {
            expectCorrupt(Array(Self.hello.prefix(count)), limit: 100, inflater, inputCut: 1)
        }
    }

    @Test(arguments: [1, 2, 4, 7, 8, 100], CompressionEngine.available)
    func trailingBytesAreCorrupt(excess: Int, engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        for (content, stream) in try Self.streams() + [(Self.helloText, Self.hello)] {
            for limit in [content.count, content.count + 1, 100_000] {
                for inputCut in [1, stream.count - 1, stream.count, .max] {
                    let longer = stream + Array(stream.prefix(excess))
                    expectCorrupt(longer, limit: limit, inflater, inputCut: inputCut)
                }
            }
        }
    }

    @Test(arguments: CompressionEngine.available)
    func presetDictionaryIsCorrupt(engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        // The second stream does not use the dictionary that it asks for.
        let unused = Self.withDictionary.prefix(6) + Self.hello.dropFirst(2)
        for stream in [Self.withDictionary, Array(unused)] {
            for inputCut in [1, 2, 3, 4, 5, 6, 7, .max] {
                expectCorrupt(stream, limit: 100, inflater, inputCut: inputCut)
            }
        }
    }

    /// Windows of 64 KiB, and another method than deflate; the header's check is right.
    @Test(arguments: [[0x88, 0x1c], [0x77, 0x85]] as [[UInt8]], CompressionEngine.available)
    func unknownHeaderIsCorrupt(header: [UInt8], engine: CompressionEngine) {
        #expect((Int(header[0]) * 256 + Int(header[1])) % 31 == 0)
        let stream = header + Self.hello.dropFirst(2)
        for inputCut in [1, .max] {
            expectCorrupt(stream, limit: 100, Inflater(engine: engine), inputCut: inputCut)
        }
    }

    /// A reference to bytes before the first one is damage, even if an earlier frame left bytes there.
    @Test(arguments: CompressionEngine.available)
    func referencesToAnEarlierFrameAreCorrupt(engine: CompressionEngine) throws {
        let inflater = Inflater(engine: engine)
        #expect(try Zlib.inflate(Self.hello, with: inflater, limit: 100) == Self.helloText)
        let withoutItsDictionary = [0x78, 0x9c] + Self.withDictionary.dropFirst(6)
        expectCorrupt(withoutItsDictionary, limit: 100, inflater)
    }

    private func expectCorrupt(_ stream: [UInt8], limit: Int, _ inflater: Inflater, inputCut: Int = .max) {
        #expect(throws: CodecError.corrupt) {
            try Zlib.inflate(stream, with: inflater, limit: limit, inputCut: { inputCut })
        }
    }

    /// Bits that do not affect the content (the compressor's level, padding) may change.
    private func expectDamage(
        in stream: [UInt8], of content: [UInt8], limit: Int, _ inflater: Inflater, inputCut: Int = .max
    ) {
        do throws(CodecError) {
            #expect(try Zlib.inflate(stream, with: inflater, limit: limit, inputCut: { inputCut }) == content)
        } catch {
            #expect(error == .corrupt || error == .tooLarge)
        }
    }
}
