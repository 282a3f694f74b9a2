import Testing
import TransferCodec

@Suite struct DeflaterTests {
    @Test(arguments: -1...9, CompressionEngine.available)
    func zlibReadsEveryLevel(level: Int, engine: CompressionEngine) throws {
        let deflater = Deflater(level: level, engine: engine)
        for size in [0, 1, 2, 63, 4096, 65_535, 65_536, 65_537, 262_144] {
            for content in Sample.kinds(size) {
                let stream = try #require(deflate(content, with: deflater, room: content.count + 1000))
                #expect(try Zlib.uncompress(stream, count: content.count) == content)
            }
        }
    }

    @Test(arguments: -1...9, CompressionEngine.available)
    func zlibReadsMoreThanAFrame(level: Int, engine: CompressionEngine) throws {
        let content = Sample.text(700_000) + Sample.random(1 << 20) + Sample.runs(200_000)
        let deflater = Deflater(level: level, engine: engine)
        let stream = try #require(deflate(content, with: deflater, room: content.count + 1000))
        #expect(try Zlib.uncompress(stream, count: content.count) == content)
    }

    @Test(arguments: CompressionEngine.available)
    func compresses(engine: CompressionEngine) throws {
        let content = Sample.compressible(1 << 20)
        let deflater = Deflater(level: 1, engine: engine)
        let stream = try #require(deflate(content, with: deflater, room: content.count / 2))
        #expect(try Zlib.uncompress(stream, count: content.count) == content)
    }

    @Test(arguments: [1, 2, 3, 6], CompressionEngine.available)
    func eachFrameIsOnItsOwn(level: Int, engine: CompressionEngine) throws {
        let content = Sample.compressible(50_000)
        let deflater = Deflater(level: level, engine: engine)
        let first = try #require(deflate(content, with: deflater, room: 50_000))
        #expect(deflate(Sample.random(1000), with: deflater, room: 2000) != nil)
        #expect(deflate(content, with: deflater, room: 50_000) == first)
        #expect(deflate(content, with: deflater, room: 1000) == nil)
        #expect(deflate(content, with: deflater, room: 50_000) == first)
    }

    @Test(arguments: [1, 2, 3, 6], CompressionEngine.available)
    func nilWhenItDoesNotFit(level: Int, engine: CompressionEngine) throws {
        let deflater = Deflater(level: level, engine: engine)
        for content in [Sample.compressible(50_000), Sample.text(5000), Sample.runs(300), Sample.random(70_000)] {
            let stream = try #require(deflate(content, with: deflater, room: content.count + 1000))
            for room in Array(0...9) + [100, stream.count - 9, stream.count - 2, stream.count - 1] {
                #expect(deflate(content, with: deflater, room: min(room, stream.count - 1)) == nil)
            }
            for room in stream.count...stream.count + 9 {
                #expect(deflate(content, with: deflater, room: room) == stream)
            }
        }
        #expect(deflate(Sample.random(4096), with: deflater, room: 4096) == nil)
        #expect(deflate([], with: deflater, room: 7) == nil)
        #expect(deflate([], with: deflater, room: 8)?.count == 8)
    }

    @Test func unknownLevelTraps() async {
        await #expect(processExitsWith: .failure) { _ = Deflater(level: 10) }
    }

    private func deflate(_ content: [UInt8], with deflater: Deflater, room: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0xa5, count: room + 8)
        let length = content.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { bytes in
                deflater.deflate(input, into: UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(room)))
            }
        }
        #expect(output.suffix(8).allSatisfy { $0 == 0xa5 })
        return length.map { Array(output.prefix($0)) }
    }
}
