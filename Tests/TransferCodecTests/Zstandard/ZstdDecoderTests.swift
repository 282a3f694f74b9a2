import Testing

@testable import TransferCodec

/// How the decoder treats input that is not exactly one frame, and frames that exceed the limits.
@Suite struct ZstdDecoderTests {
    private static let limit = 1 << 20
    private let decoder = ZstdDecoder(capacity: Self.limit)
    private static let hello = Array("hello".utf8)

    /// A single segment with a content size of 5 in one byte.
    private static let small = Zstd.frame([0x20, 5], [hello])

    /// For the first three values the library would look for a dictionary; the last value sets the reserved bit, whose
    /// meaning is not defined.
    @Test(arguments: [0x21, 0x22, 0x23, 0x28] as [UInt8]) func aHeaderOfAnotherKindIsRefused(_ descriptor: UInt8) throws
    {
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, descriptor, 5, 0, 0, 0, 0]
        #expect(throws: CodecError.self) { try frame.withUnsafeBytes { _ = try ZstdFrameHeader($0) } }
        let plain: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 5]
        #expect(throws: Never.self) { try plain.withUnsafeBytes { _ = try ZstdFrameHeader($0) } }
    }

    @Test(arguments: [0, 1, 100, 65_535, 262_144, 1 << 20], [1, 4, 9])
    func readsWhatLibzstdWrites(size: Int, level: Int) throws {
        for content in Sample.kinds(size) {
            for (checksum, saysSize) in [(false, true), (true, true), (true, false)] {
                let frame = try Zstd.compress(
                    content, level: level, checksum: checksum, saysSize: saysSize, windowLog: 18)
                #expect(try Zstd.decode(frame, with: decoder) == content)
            }
        }
    }

    @Test func readsFramesByHand() throws {
        #expect(try Zstd.decode(Self.small, with: decoder) == Self.hello)
        let inTwo = Zstd.frame([0x20, 10], [Self.hello, Self.hello])
        #expect(try Zstd.decode(inTwo, with: decoder) == Self.hello + Self.hello)
        let withoutSize = Zstd.frame([0x00, 0x00], [Self.hello])
        #expect(try Zstd.decode(withoutSize, with: decoder) == Self.hello)
    }

    @Test func cutAnywhereIsCorrupt() throws {
        let frames = [
            Self.small, try Zstd.compress(Sample.text(3000), checksum: true),
            try Zstd.compress(Sample.runs(500), saysSize: false), try Zstd.compress(Sample.random(90)),
        ]
        for frame in frames {
            for count in frame.indices { expect(.corrupt, Array(frame.prefix(count))) }
        }
    }

    @Test func whatStandsBehindIsCorrupt() throws {
        for frame in [Self.small, try Zstd.compress(Sample.text(3000), checksum: true)] {
            for excess in [[0], Array(frame.prefix(3)), Array(frame.prefix(4)), frame, Zstd.skippable] {
                expect(.corrupt, frame + excess)
            }
        }
    }

    @Test func otherKindsOfFramesAreCorrupt() {
        expect(.corrupt, [])
        expect(.corrupt, Zstd.skippable)
        expect(.corrupt, Zstd.skippable + Self.small)
        // The last format before the standardised one (libzstd 0.7).
        expect(.corrupt, [0x27] + Self.small.dropFirst())
        expect(.corrupt, Array("hello, world, hello, world".utf8))
    }

    @Test(arguments: [1, 2, 3] as [UInt8]) func dictionariesAreCorrupt(flag: UInt8) {
        for id in [UInt8(0), 7] {
            let length = flag == 3 ? 4 : Int(flag)
            expect(.corrupt, Zstd.frame([0x20 | flag] + [UInt8](repeating: id, count: length) + [5], [Self.hello]))
        }
        expect(.corrupt, Zstd.frame([0x20 | flag, 5], [Self.hello]))
    }

    @Test func theReservedBitIsCorrupt() {
        expect(.corrupt, Zstd.frame([0x28, 5], [Self.hello]))
    }

    /// A decoder would have to allocate the window that a frame asks for, however little the frame contains.
    @Test func windowsAreLimited() throws {
        let content = Sample.text(3000)
        for (log, isTaken) in [(12, true), (20, true), (21, false), (27, false)] {
            var frame = try Zstd.compress(content, saysSize: false)
            frame[5] = UInt8(log - 10) << 3
            if isTaken { #expect(try Zstd.decode(frame, with: decoder) == content) } else { expect(.tooLarge, frame) }
        }
        // A window of 1 MiB, and the smallest and the largest window above.
        #expect(try Zstd.decode(Zstd.frame([0x00, 10 << 3], [Self.hello]), with: decoder) == Self.hello)
        for window: UInt8 in [10 << 3 | 1, 0xff] { expect(.tooLarge, Zstd.frame([0x00, window], [Self.hello])) }
    }

    @Test func contentSizesAreLimited() throws {
        let one: [UInt8] = [0xa0, 0, 0, 0x10, 0]
        let four: [UInt8] = [0xa0, 1, 0, 0x10, 0]
        let eight: [UInt8] = [0xe0] + [UInt8](repeating: 0xff, count: 8)
        // A size at the limit is allowed, but the frame has less content.
        expect(.corrupt, Zstd.frame(one, [Self.hello]))
        expect(.tooLarge, Zstd.frame(four, [Self.hello]))
        expect(.tooLarge, Zstd.frame(eight, [Self.hello]))
        expect(.tooLarge, Self.small, limit: 4)
        #expect(try Zstd.decode(Self.small, with: decoder, limit: 5) == Self.hello)
    }

    @Test func anotherContentSizeIsCorrupt() throws {
        for size: UInt8 in [0, 1, 4, 6, 200] { expect(.corrupt, Zstd.frame([0x20, size], [Self.hello])) }
        // Sizes of two bytes begin at 256.
        expect(.corrupt, Zstd.frame([0x60, 5, 0], [Self.hello]))
        let long = [UInt8](repeating: 7, count: 261)
        #expect(try Zstd.decode(Zstd.frame([0x60, 5, 0], [long]), with: decoder) == long)
        expect(.corrupt, Zstd.frame([0x60, 4, 0], [long]))
    }

    @Test(arguments: [true, false]) func bombsAreTooLarge(saysSize: Bool) throws {
        let bomb = try Zstd.compress([UInt8](repeating: 0, count: 10 << 20), saysSize: saysSize, windowLog: 17)
        expect(.tooLarge, bomb)
        let exact = try Zstd.compress([UInt8](repeating: 0, count: Self.limit), saysSize: saysSize, windowLog: 17)
        #expect(try Zstd.decode(exact, with: decoder).count == Self.limit)
        let oneMore = try Zstd.compress([UInt8](repeating: 0, count: Self.limit + 1), saysSize: saysSize, windowLog: 17)
        expect(.tooLarge, oneMore)
        expect(.tooLarge, exact, limit: Self.limit - 1)
    }

    @Test func checksumsAreCompared() throws {
        let frame = try Zstd.compress(Sample.text(3000), checksum: true)
        for index in frame.count - 4..<frame.count {
            var other = frame
            other[index] ^= 1
            expect(.corrupt, other)
        }
        // The header denies a checksum that is there, or announces one that is missing.
        var without = frame
        without[4] ^= 0b100
        expect(.corrupt, without)
        expect(.corrupt, Array(frame.dropLast(4)))
        expect(.corrupt, Zstd.frame([0x24, 5], [Self.hello]))
    }

    /// Every changed frame gives content within the limit or a fault, and the next frame is read as usual.
    @Test func noBitOfAFrameDoesHarm() throws {
        let frames = [
            Self.small, try Zstd.compress(Sample.text(400), checksum: true), try Zstd.compress(Sample.runs(300)),
            try Zstd.compress(Sample.text(300), saysSize: false),
        ]
        for frame in frames {
            for bit in 0..<8 * frame.count {
                var damaged = frame
                damaged[bit / 8] ^= 1 << (bit % 8)
                let result = Result { () throws(CodecError) in try Zstd.decode(damaged, with: decoder, limit: 4096) }
                if case .success(let content) = result { #expect(content.count <= 4096) }
            }
        }
        #expect(try Zstd.decode(Self.small, with: decoder) == Self.hello)
    }

    private func expect(_ fault: CodecError, _ frame: [UInt8], limit: Int = limit) {
        #expect(throws: fault) { try Zstd.decode(frame, with: decoder, limit: limit) }
    }
}
