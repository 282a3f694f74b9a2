import Testing
import TransferCodec

/// Skipped where ISA-L is not installed; the other suites test both engines beside zlib.
@Suite(.enabled(if: CompressionEngine.isal.isAvailable, "ISA-L is not installed"))
struct ISALEngineTests {
    @Test func doesLevelsOneToThree() throws {
        let content = Sample.text(100_000)
        for level in -1...9 {
            let stream = try #require(Zlib.deflate(content, with: Deflater(level: level, engine: .isal)))
            let reference = try Zlib.compress(content, level: Int32(level))
            #expect((stream == reference) == !(1...3).contains(level), "level \(level)")
        }
    }

    /// A caller that asks for level 1 gets no larger frames of text than from zlib.
    @Test func textIsNoLargerThanWithZlib() throws {
        let content = Sample.text(256 << 10)
        for level in 1...3 {
            let stream = try #require(Zlib.deflate(content, with: Deflater(level: level, engine: .isal)))
            let reference = try Zlib.compress(content, level: Int32(level))
            #expect(stream.count <= reference.count, "level \(level): \(stream.count), zlib \(reference.count)")
        }
    }

    @Test func twoOfThemDoNotShareState() throws {
        let contents = [Sample.text(100_000), Sample.compressible(100_000)]
        let deflaters = contents.map { _ in Deflater(level: 1, engine: .isal) }
        for _ in 0..<3 {
            for (content, deflater) in zip(contents, deflaters) {
                let stream = try #require(Zlib.deflate(content, with: deflater))
                #expect(try Zlib.uncompress(stream, count: content.count) == content)
            }
        }
    }
}
