import Testing
import TransferCodec

@Suite struct FrameCompressorTests {
    static let methods =
        [1, 6, 9].map { CompressionMethod(.zlib, level: $0) } + (1...9).map { CompressionMethod(.zstd, level: $0) }

    @Test(arguments: methods) func whatShrinksIsSmallerAndTheSame(_ method: CompressionMethod) throws {
        let pool = CompressorPool()
        for size in [300, 1000, 65_536, 262_144] {
            for content in [Sample.text(size), Sample.runs(size)] {
                let frame = try #require(compress(content, method, pool))
                #expect(frame.count <= content.count - content.count / 20)
                #expect(try expand(frame, method) == content)
            }
        }
    }

    /// Compression has to be worth the receiver's work.
    @Test(arguments: methods) func whatDoesNotShrinkIsLeftAlone(_ method: CompressionMethod) {
        let pool = CompressorPool()
        for content in [[], [1], [UInt8](repeating: 0, count: 63), Sample.random(1000), Sample.random(262_144)] {
            #expect(compress(content, method, pool) == nil)
        }
        // The first bytes show that compression is not worth continuing.
        #expect(compress(Sample.random(16_384) + Sample.runs(100_000), method, pool) == nil)
    }

    @Test func levelsAreThoseOfBothLibraries() {
        let levels = [-5, 0, 1, 9, 10, .max].map { CompressionMethod(.zstd, level: $0).level }
        #expect(levels == [1, 1, 1, 9, 9, 9])
    }

    @Test func everyMethodIsMeasured() throws {
        let pool = CompressorPool()
        let methods = [CompressionMethod(.zlib), .fast, .small]
        let figures = Sample.text(262_144).withUnsafeBytes { pool.measure(methods, with: $0, bytes: 262_144) }
        #expect(figures.map(\.method) == methods)
        #expect(figures.allSatisfy { $0.rate > 0 && $0.ratio > 0 && $0.ratio < 0.95 })
        let random = Sample.random(1000).withUnsafeBytes { pool.measure(methods, with: $0, bytes: 1 << 20) }
        #expect(random.allSatisfy { $0.ratio == 1 })
    }

    private func compress(_ content: [UInt8], _ method: CompressionMethod, _ pool: CompressorPool) -> [UInt8]? {
        pool.lend(method) { compressor in content.withUnsafeBytes { compressor.compress($0).map { Array($0) } } }
    }

    private func expand(_ frame: [UInt8], _ method: CompressionMethod) throws -> [UInt8] {
        switch method.format {
        case .zlib: try Zlib.inflate(frame, with: Inflater(), limit: 1 << 20)
        case .zstd: try Zstd.decode(frame, with: ZstdDecoder(capacity: 1 << 20))
        }
    }
}
