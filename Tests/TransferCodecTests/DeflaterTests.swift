import Testing
import TransferCodec

@Suite struct DeflaterTests {
    @Test(arguments: -1...9)
    func zlibReadsEveryLevel(level: Int) throws {
        let deflater = Deflater(level: level)
        for content in [[], [7], Sample.compressible(100_000), Sample.random(70_000)] {
            let stream = try #require(deflate(content, with: deflater, room: content.count + 1000))
            #expect(try Zlib.uncompress(stream, count: content.count) == content)
        }
    }

    @Test func compresses() throws {
        let content = Sample.compressible(1 << 20)
        let stream = try #require(deflate(content, with: Deflater(level: 1), room: content.count / 2))
        #expect(try Zlib.uncompress(stream, count: content.count) == content)
    }

    @Test func eachFrameIsOnItsOwn() throws {
        let content = Sample.compressible(50_000)
        let deflater = Deflater(level: 6)
        let first = try #require(deflate(content, with: deflater, room: 50_000))
        #expect(deflate(Sample.random(1000), with: deflater, room: 2000) != nil)
        #expect(deflate(content, with: deflater, room: 50_000) == first)
    }

    @Test func nilWhenItDoesNotFit() throws {
        let content = Sample.compressible(50_000)
        let deflater = Deflater(level: 1)
        let stream = try #require(deflate(content, with: deflater, room: 50_000))
        for room in [0, 1, 2, 100, stream.count - 1] {
            #expect(deflate(content, with: deflater, room: room) == nil)
        }
        #expect(deflate(content, with: deflater, room: stream.count) == stream)
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
