import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct OpenerTests {
    private static let chunk = SealedLayout.chunkSize

    private static func chunks(_ chunks: [[UInt8]]) throws -> [UInt8] {
        try file([UInt8](repeating: 9, count: SealedLayout.nonceSize) + chunks.flatMap { $0 })
    }

    private static func file(_ payload: [UInt8]) throws -> [UInt8] {
        let whole = try Sample.file(Sample.stanza().text, [])
        return whole.dropLast(SealedLayout.nonceSize + ChunkCipher.tagSize) + payload
    }

    /// The content that is opened before the end or an error, and the error.
    private static func outcome(_ bytes: [UInt8], cut: Int = .max) -> (content: [UInt8], error: SealingError?) {
        var content: [UInt8] = []
        do throws(SealingError) {
            let key = try SealingKey(SecretBytes([UInt8](repeating: 0x42, count: 32)))
            let opener = Opener([key])
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(cut)
                try opener.open(all: piece, into: &content)
                rest = rest.dropFirst(piece.count)
            }
            try opener.finish(into: &content)
            return (content, nil)
        } catch {
            return (content, error)
        }
    }

    @Test(arguments: SealerTests.sizes, [1000, 65_551, 65_552, 65_553, 150_000])
    func howeverItIsCut(_ size: Int, _ cut: Int) throws {
        let content = Sample.content(size)
        #expect(try Sample.opened(Sample.sealed(content), cut: cut) == content)
    }

    @Test func byteByByte() throws {
        let content = Sample.content(65_600)
        #expect(try Sample.opened(Sample.sealed(content), cut: 1) == content)
    }

    /// A file that is cut anywhere never counts as complete, and the opened bytes are the beginning of the content.
    @Test func everyTruncationIsNoticed() throws {
        let content = Sample.content(2 * Self.chunk + 100)
        let sealed = try Sample.sealed(content)
        let lead = try Sample.headerSize(sealed) + SealedLayout.nonceSize
        let edges = (0...2).map { lead + $0 * SealedLayout.sealedChunkSize }
        let counts = Array(0...lead) + edges.flatMap { [$0 - 1, $0, $0 + 1, $0 + 15, $0 + 16, $0 + 17, $0 + 115] }
        for count in Set(counts) where count < sealed.count {
            let (front, error) = Self.outcome(Array(sealed.prefix(count)))
            #expect(error == .truncated || error == .damaged, "\(count): \(String(describing: error))")
            #expect(content.starts(with: front) && front.count.isMultiple(of: Self.chunk), "\(count)")
        }
        for edge in edges { #expect(Self.outcome(Array(sealed.prefix(edge))).error == .truncated) }
    }

    /// A changed byte hides the content of that chunk and of all later chunks.
    @Test(arguments: [0, 1, 2]) func everyChangeIsNoticed(_ number: Int) throws {
        let content = Sample.content(2 * Self.chunk + 100)
        let sealed = try Sample.sealed(content)
        let start = try Sample.headerSize(sealed) + SealedLayout.nonceSize + number * SealedLayout.sealedChunkSize
        let end = min(start + SealedLayout.sealedChunkSize, sealed.count)
        for index in [start, start + 1, (start + end) / 2, end - 17, end - 16, end - 1] {
            var changed = sealed
            changed[index] ^= 0x80
            let (front, error) = Self.outcome(changed)
            #expect(error == .damaged && front == Array(content.prefix(number * Self.chunk)))
        }
        var nonce = sealed
        nonce[try Sample.headerSize(sealed)] ^= 1
        #expect(Self.outcome(nonce).error == .damaged)
    }

    @Test func chunksHaveTheirPlaces() throws {
        let one = Sample.content(Self.chunk)
        let (first, second) = (try Sample.chunk(one, 0, isLast: false), try Sample.chunk(one, 1, isLast: false))
        let last = try Sample.chunk([5], 2, isLast: true)
        #expect(try Self.outcome(Self.chunks([first, second, last])).content == one + one + [5])
        for wrong in [[second, first, last], [first, first, last], [first, last], [first, last, second], [last]] {
            #expect(try Self.outcome(Self.chunks(wrong)).error != nil)
        }
        #expect(try Self.outcome(Self.chunks([first, second])).error == .truncated)
        #expect(try Self.outcome(Self.chunks([first, second, last, [0]])).error == .damaged)
        let full = try Sample.chunk(one, 1, isLast: true)
        #expect(try Self.outcome(Self.chunks([first, full])).error == nil)
        #expect(try Self.outcome(Self.chunks([first, full, [0]])).error == .trailingData)
        #expect(try Self.outcome(Self.chunks([first, full, full])).error == .trailingData)
        #expect(try Self.outcome(Self.chunks([first, full, last])).error == .trailingData)
    }

    /// The last chunk is empty only if there is no content.
    @Test func emptyChunks() throws {
        let one = Sample.content(Self.chunk)
        let first = try Sample.chunk(one, 0, isLast: false)
        #expect(try Self.outcome(Self.chunks([Sample.chunk([], 0, isLast: true)])).error == nil)
        #expect(try Self.outcome(Self.chunks([Sample.chunk([], 0, isLast: false)])).error == .truncated)
        #expect(try Self.outcome(Self.chunks([first, Sample.chunk([], 1, isLast: true)])).error == .damaged)
        let short = try Sample.chunk([1], 0, isLast: false)
        #expect(try Self.outcome(Self.chunks([short, Sample.chunk([2], 1, isLast: true)])).error == .damaged)
        #expect(try Self.outcome(Self.chunks([])).error == .truncated)
        #expect(try Self.outcome(Self.file([])).error == .truncated)
        #expect(try Self.outcome(Self.file([1, 2, 3])).error == .truncated)
    }

    @Test func contentIsBounded() throws {
        let key = try Sample.key()
        let content = Sample.content(Self.chunk + 1)
        let sealed = try Sample.sealed(content)
        func opened(_ limit: UInt64) throws(SealingError) -> [UInt8] {
            var output: [UInt8] = []
            let opener = Opener([key], atMost: limit)
            try opener.open(all: sealed, into: &output)
            try opener.finish(into: &output)
            return output
        }
        #expect(try opened(UInt64(content.count)) == content)
        for limit in [0, 1, UInt64(Self.chunk)] {
            #expect(throws: SealingError.tooLarge("The sealed content is longer than announced.")) { try opened(limit) }
        }
    }

    /// After an error, every further call throws that error.
    @Test func errorsStay() throws {
        let opener = Opener([try Sample.key()])
        var output: [UInt8] = []
        let wrong = Array("no age file".utf8)
        for _ in 0..<2 {
            #expect(throws: SealingError.notSealed) {
                try opener.open(all: wrong, into: &output)
            }
        }
        #expect(throws: SealingError.notSealed) { try opener.finish(into: &output) }
        let done = Opener([try Sample.key()])
        try done.open(all: Sample.sealed([]), into: &output)
        try done.finish(into: &output)
        #expect(throws: SealingError.ended) { try done.finish(into: &output) }
    }

    /// The opener finds the tag of the state that the file was sealed with.
    @Test func tagIsThatOfTheState() throws {
        let recipients = [try Sample.key().recipient]
        let state = try SealingState(sealing: Sample.source([1]), for: recipients)
        let sealer = try Sealer(state, sealing: Sample.source([1]), for: recipients)
        var (sealed, output): ([UInt8], [UInt8]) = ([], [])
        try sealer.seal(all: [1], into: &sealed)
        try sealer.finish(into: &sealed)
        let opener = Opener([try Sample.key()])
        #expect(opener.tag == nil)
        try opener.open(all: sealed, into: &output)
        #expect(try opener.tag == state.tag)
    }
}
