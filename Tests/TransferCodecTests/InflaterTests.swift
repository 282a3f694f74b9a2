import Testing
import TransferCodec

@Suite struct InflaterTests {
    /// "hello hello hello hello", deflated by another zlib at level 9.
    private static let hello: [UInt8] = [
        0x78, 0xda, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1,
    ]
    private static let helloText = Array("hello hello hello hello".utf8)

    /// "hello hello world", deflated with the preset dictionary "hello world".
    private static let withDictionary: [UInt8] = [
        0x78, 0xf9, 0x1a, 0x0b, 0x04, 0x5d, 0xcb, 0x00, 0x33, 0x33, 0x10, 0x02, 0x00, 0x3a, 0xa8, 0x06, 0x91,
    ]

    @Test(arguments: [0, 1, 1000, 65_536, 300_000])
    func cutsDoNotMatter(size: Int) throws {
        let inflater = Inflater()
        var generator = SplitMix64(seed: UInt64(size))
        for content in [Sample.random(size), Sample.compressible(size), [UInt8](repeating: 0, count: size)] {
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

    @Test func readsWhatDeflaterWrites() throws {
        let content = Sample.compressible(200_000)
        var stream = [UInt8](repeating: 0, count: content.count)
        let length = content.withUnsafeBytes { input in
            stream.withUnsafeMutableBytes { Deflater(level: 1).deflate(input, into: $0) }
        }
        let inflated = try Zlib.inflate(
            Array(stream.prefix(try #require(length))), with: Inflater(), limit: content.count)
        #expect(inflated == content)
    }

    @Test(arguments: [1, 7, .max])
    func readsByteByByte(inputCut: Int) throws {
        let inflated = try Zlib.inflate(
            Self.hello, with: Inflater(), limit: 100, inputCut: { inputCut }, outputCut: { 1 })
        #expect(inflated == Self.helloText)
    }

    @Test func damageIsNoticed() throws {
        let inflater = Inflater()
        for index in Self.hello.indices {
            for mask in UInt8(1)...255 {
                var stream = Self.hello
                stream[index] ^= mask
                do throws(CodecError) {
                    // Bits that say nothing of the content (the compressor's level, padding) may change.
                    #expect(try Zlib.inflate(stream, with: inflater, limit: 64) == Self.helloText)
                } catch {
                    #expect(error == .corrupt || error == .tooLarge)
                }
            }
        }
    }

    @Test func damagedContentIsCorrupt() throws {
        let content = Sample.random(200)
        var stream = try Zlib.compress(content, level: 0)
        for index in 7..<stream.count {
            stream[index] ^= 0x10
            #expect(throws: CodecError.corrupt) { try Zlib.inflate(stream, with: Inflater(), limit: 200) }
            stream[index] ^= 0x10
        }
    }

    @Test(arguments: [1, .max])
    func truncationIsCorrupt(inputCut: Int) {
        let inflater = Inflater()
        for count in Self.hello.indices {
            #expect(throws: CodecError.corrupt) {
                try Zlib.inflate(
                    Array(Self.hello.prefix(count)), with: inflater, limit: 100, inputCut: { inputCut })
            }
        }
    }

    @Test(arguments: [1, 100], [1, .max])
    func trailingByteIsCorrupt(excess: Int, inputCut: Int) {
        let stream = Self.hello + [UInt8](repeating: 0, count: excess)
        for limit in [Self.helloText.count, 1000] {
            #expect(throws: CodecError.corrupt) {
                try Zlib.inflate(stream, with: Inflater(), limit: limit, inputCut: { inputCut })
            }
        }
    }

    @Test func presetDictionaryIsCorrupt() {
        #expect(throws: CodecError.corrupt) {
            try Zlib.inflate(Self.withDictionary, with: Inflater(), limit: 100)
        }
    }

    @Test(arguments: [1, 23, 24, 4096], [1, .max])
    func limitIsExact(outputCut: Int, inputCut: Int) throws {
        let inflater = Inflater()
        for limit in 0...30 {
            let result = Result { () throws(CodecError) in
                try Zlib.inflate(
                    Self.hello, with: inflater, limit: limit, inputCut: { inputCut }, outputCut: { outputCut })
            }
            #expect(result == (limit < Self.helloText.count ? .failure(.tooLarge) : .success(Self.helloText)))
        }
    }

    @Test func outputMayBeEmptyAtTheLimit() throws {
        let inflater = Inflater()
        var output = [UInt8](repeating: 0, count: Self.helloText.count)
        inflater.begin(limit: output.count)
        let split = Self.hello.count - 2
        let first = try feed(Array(Self.hello.prefix(split)), to: inflater, &output)
        #expect(first == (output.count, split))
        var none: [UInt8] = []
        #expect(try feed(Array(Self.hello.suffix(2)), to: inflater, &none) == (0, 2))
        try inflater.finish()
        #expect(output == Self.helloText)
    }

    @Test(arguments: [1 << 16, 4 << 20])
    func bombIsTooLarge(room: Int) throws {
        let stream = try Zlib.compress([UInt8](repeating: 0, count: 10 << 20))
        let inflater = Inflater()
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

    @Test func errorsLastUntilTheNextFrame() throws {
        let inflater = Inflater()
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
