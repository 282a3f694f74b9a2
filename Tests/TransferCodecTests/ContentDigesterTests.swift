import Testing
import TransferCodec
import TransferModel

@Suite struct ContentDigesterTests {
    private static let block = Limits.blockSize
    private static let boundarySizes =
        [0, 1, block - 1, block, block + 1, 2 * block - 1, 2 * block, 2 * block + 1, 3 * block]

    @Test(arguments: DigestVector.blocks + DigestVector.trees, DigestFunction.allCases)
    func agreesWithTheTools(vector: DigestVector, function: DigestFunction) {
        let digest = vector.content.withUnsafeBytes { ContentDigester.digest(function, $0) }
        #expect(digest.hexadecimal == vector.digits(function))
        #expect(digest.algorithm == function.algorithm(forSize: UInt64(vector.content.count)))
    }

    @Test(arguments: boundarySizes, DigestFunction.allCases)
    func reportsEachBlockOnce(size: Int, function: DigestFunction) {
        let content = Sample.random(size)
        let expected = Expectation(content, function)
        let digester = ContentDigester(function)
        var generator = SplitMix64(seed: UInt64(size))
        let blocks = feed(content, to: digester) { Int.random(in: 1...700_000, using: &generator) }
        #expect(digester.size == UInt64(size))
        let (digest, last) = digester.finish()
        #expect(digest == expected.digest)
        #expect(digest == content.withUnsafeBytes { ContentDigester.digest(function, $0) })
        #expect(blocks.map(\.index) == Array(0..<UInt64(size / Self.block)))
        #expect(blocks.map(\.digest) == expected.blocks)
        #expect(last?.index == expected.lastIndex)
        #expect(last?.digest == expected.last)
        #expect(digester.size == UInt64(size))
    }

    @Test func oneUpdateMayFillSeveralBlocks() {
        let content = Sample.random(3 * Self.block + 5)
        let digester = ContentDigester(.xxh128)
        let blocks = feed(content, to: digester) { content.count }
        #expect(blocks.map(\.index) == [0, 1, 2])
        #expect(digester.finish().digest == Expectation(content, .xxh128).digest)
    }

    @Test func theOnlyBlockIsReportedWhenFull() {
        let content = Sample.random(Self.block)
        let digester = ContentDigester(.sha256)
        let blocks = feed(content, to: digester) { Self.block }
        let (digest, last) = digester.finish()
        #expect(blocks.map(\.digest) == [digest.bytes])
        #expect(digest.algorithm == .sha256)
        #expect(last == nil)
    }

    @Test(
        arguments: [0, 1, Limits.blockSize, Limits.blockSize + 1, 2 * Limits.blockSize, 2 * Limits.blockSize + 9],
        DigestFunction.allCases)
    func theDigestsOfBlocksGiveThatOfTheWhole(_ size: Int, _ function: DigestFunction) {
        let content = [UInt8](repeating: 7, count: size)
        let digester = ContentDigester(function)
        var blocks: [UInt8] = []
        content.withUnsafeBytes { digester.update($0) { _, digest in blocks += digest } }
        // Reading the tail does not end the content.
        blocks += digester.tail
        #expect(digester.tail == blocks.suffix(size % Limits.blockSize == 0 ? 0 : function.size))
        #expect(ContentDigester.digest(function, size: UInt64(size), ofBlocks: blocks) == digester.finish().digest)
    }

    @Test func resetForgetsEverything() {
        let digester = ContentDigester(.xxh128)
        for size in [Self.block + 7, 100, Self.block, 0] {
            let content = Sample.random(size, seed: UInt64(size))
            _ = feed(Sample.random(Self.block + 3), to: digester) { Self.block }
            digester.reset()
            #expect(digester.size == 0)
            _ = feed(content, to: digester) { 1 << 20 }
            #expect(digester.finish().digest == Expectation(content, .xxh128).digest)
            digester.reset()
        }
    }

    @Test func resetMayChangeTheFunction() {
        let content = Sample.random(Self.block + 7)
        let digester = ContentDigester(.xxh128)
        for function in [DigestFunction.sha256, .sha256, .xxh128] {
            _ = feed(content, to: digester) { 1 << 20 }
            digester.reset(to: function)
            _ = feed(content, to: digester) { 1 << 20 }
            #expect(digester.finish().digest == Expectation(content, function).digest)
            digester.reset()
        }
    }

    @Test func updateAfterFinishTraps() async {
        await #expect(processExitsWith: .failure) {
            let digester = ContentDigester(.xxh128)
            _ = digester.finish()
            digester.update(UnsafeRawBufferPointer(start: nil, count: 0)) { _, _ in }
        }
    }

    private func feed(
        _ content: [UInt8], to digester: ContentDigester, cut: () -> Int
    ) -> [(index: UInt64, digest: [UInt8])] {
        var blocks: [(index: UInt64, digest: [UInt8])] = []
        content.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(cut())
                digester.update(UnsafeRawBufferPointer(rebasing: piece)) { blocks.append(($0, $1)) }
                rest = rest.dropFirst(piece.count)
            }
        }
        return blocks
    }
}

/// The digests that a digester should report for some content, computed only from arrays and one-shot digests.
private struct Expectation {
    var digest: Digest
    /// Digests of the full blocks.
    var blocks: [[UInt8]] = []
    var lastIndex: UInt64?
    var last: [UInt8]?

    init(_ content: [UInt8], _ function: DigestFunction) {
        let pieces = stride(from: 0, to: content.count, by: Limits.blockSize)
            .map { Array(content[$0..<min($0 + Limits.blockSize, content.count)]) }
        let digests = pieces.map { Self.hash(function, $0) }
        blocks = zip(pieces, digests).filter { $0.0.count == Limits.blockSize }.map(\.1)
        guard pieces.count > 1 else {
            digest = Digest(function == .xxh128 ? .xxh128 : .sha256, Self.hash(function, content))
            return
        }
        digest = Digest(
            function == .xxh128 ? .xxh128Tree : .sha256Tree, Self.hash(function, digests.flatMap { $0 }))
        guard blocks.count < digests.count else { return }
        lastIndex = UInt64(blocks.count)
        last = digests.last
    }

    private static func hash(_ function: DigestFunction, _ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { BlockHasher.digest(function, $0) }
    }
}
