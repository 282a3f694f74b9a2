import Testing
import TransferCodec

/// Frames of both formats, in pieces and one after another.
@Suite struct FrameExpansionTests {
    private enum Fault: Error, Equatable {
        case codec(CodecError)
        case sink
    }

    private static let limit = 1 << 20

    @Test(arguments: CompressionFormat.allCases) func cutsDoNotMatter(_ format: CompressionFormat) throws {
        let expansion = FrameExpansion(limit: Self.limit)
        var generator = SplitMix64(seed: 3)
        for size in [0, 1, 1000, 262_144] {
            for content in Sample.kinds(size) {
                let frame = try Self.frame(content, format)
                for longest in [1 + frame.count / 7, frame.count + 1] {
                    let expanded = try expand(frame, format, with: expansion) {
                        Int.random(in: 1...longest, using: &generator)
                    }
                    #expect(expanded == content)
                }
            }
        }
    }

    @Test(arguments: CompressionFormat.allCases) func aFaultIsForgottenWithTheNextFrame(_ format: CompressionFormat)
        throws
    {
        let expansion = FrameExpansion(limit: Self.limit)
        let good = try Self.frame(Sample.text(3000), format)
        let bomb = try Self.frame([UInt8](repeating: 0, count: Self.limit + 1), format)
        for (bad, fault) in [(Array(good.dropLast()), CodecError.corrupt), (bomb, .tooLarge), ([], .corrupt)] {
            for cut in [3, 100_000] {
                #expect(throws: Fault.codec(fault)) { try expand(bad, format, with: expansion) { cut } }
                #expect(try expand(good, format, with: expansion) { cut } == Sample.text(3000))
            }
        }
        // A frame that is not continued.
        _ = try? expand(Array(good.prefix(10)), format, with: expansion, isWhole: false) { 4 }
        #expect(try expand(good, format, with: expansion) { 7 } == Sample.text(3000))
    }

    @Test func formatsMayTakeTurns() throws {
        let expansion = FrameExpansion(limit: Self.limit)
        for format in [CompressionFormat.zstd, .zlib, .zstd, .zlib] {
            let frame = try Self.frame(Sample.text(5000), format)
            #expect(try expand(frame, format, with: expansion) { 100 } == Sample.text(5000))
        }
    }

    @Test(arguments: CompressionFormat.allCases) func whatTheSinkThrowsIsThrown(_ format: CompressionFormat) throws {
        let expansion = FrameExpansion(limit: Self.limit)
        let frame = try Self.frame(Sample.text(300), format)
        #expect(throws: Fault.sink) {
            try frame.withUnsafeBytes { bytes in
                try expansion.expand(
                    bytes, .init(isFirst: true, isLast: true), format, fault: Fault.codec
                ) { (_) throws(Fault) in throw .sink }
            }
        }
        #expect(try expand(frame, format, with: expansion) { 100 } == Sample.text(300))
    }

    private static func frame(_ content: [UInt8], _ format: CompressionFormat) throws -> [UInt8] {
        switch format {
        case .zlib: try Zlib.compress(content)
        case .zstd: try Zstd.compress(content)
        }
    }

    private func expand(
        _ frame: [UInt8], _ format: CompressionFormat, with expansion: FrameExpansion, isWhole: Bool = true,
        cut: () -> Int
    ) throws -> [UInt8] {
        var (content, start) = ([UInt8](), 0)
        repeat {
            let end = min(frame.count, start + cut())
            try frame[start..<end].withUnsafeBytes { bytes in
                try expansion.expand(
                    bytes, .init(isFirst: start == 0, isLast: isWhole && end == frame.count), format, fault: Fault.codec
                ) { (piece) throws(Fault) in content += piece }
            }
            start = end
        } while start < frame.count
        return content
    }
}
