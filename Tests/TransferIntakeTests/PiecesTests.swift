import Testing
import TransferCodec
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// Blocks that clients send in pieces, over any connections.
@Suite struct PiecesTests {
    private static let (block, piece) = (UInt64(Limits.blockSize), UInt64(Limits.pieceSize))
    private static let total = 2 * block + 3 * piece + 5
    private static let content = SplitMix64.bytes(seed: 1, Int(total))

    private let claimed: ClaimedMultipart
    private var store: FileStore { claimed.store }
    private var multipart: MultipartUpload { claimed.multipart }

    init() throws { claimed = try ClaimedMultipart(total: Self.total) }

    private func claim(_ range: Range<UInt64>, connection: Int) throws(Failure) -> PartClaim {
        try claimed.claim(range, connection: connection)
    }

    private func bring(
        _ range: Range<UInt64>, connection: Int = 1, of content: [UInt8] = content, digests: [UInt8] = []
    ) throws(Failure) {
        let claim = try claim(range, connection: connection)
        let bytes = Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try claim.write(bytes, at: 0) }
        try claim.complete(digests: digests)
    }

    private static func digest(of range: Range<UInt64>) -> [UInt8] {
        content[Int(range.lowerBound)..<Int(range.upperBound)].withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
    }

    /// Divides all of the content into pieces of one to nine units. No piece crosses the border of a block.
    private static func pieces(_ generator: inout SplitMix64) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        var start: UInt64 = 0
        while start < total {
            let end = start + piece * UInt64.random(in: 1...9, using: &generator)
            ranges.append(start..<min(end, total, (start / block + 1) * block))
            start = ranges[ranges.count - 1].upperBound
        }
        return ranges
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func inAnyOrderTheyAreTheContent(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        for (number, range) in Self.pieces(&generator).shuffled(using: &generator).enumerated() {
            #expect(try multipart.finish(total: Self.total) == nil)
            // The last block is short enough to be sent whole.
            try bring(range, connection: number % 3, digests: Self.digest(of: range))
        }
        #expect(multipart.verified == Self.total)
        let (staged, digest) = try #require(try multipart.finish(total: Self.total))
        #expect(digest == Self.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
        #expect(
            staged.digest(of: 0..<Self.total, .xxh128)
                == Self.content.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
    }

    /// Digests sent with pieces are those of the pieces, not of the blocks.
    @Test func besideWholeBlocks() throws {
        let last = 2 * Self.block..<Self.total
        try bring(last, digests: Self.digest(of: last))
        try bring(0..<Self.block, digests: Self.digest(of: 0..<Self.block))
        try bring(Self.block..<Self.block + Self.piece, digests: [1, 2, 3])
        #expect(try multipart.finish(total: Self.total) == nil)
        try bring(Self.block + Self.piece..<2 * Self.block, digests: [4])
        let finished = try #require(try multipart.finish(total: Self.total))
        #expect(finished.digest == Self.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
    }

    /// A client that returns over a newer connection may not know which pieces the server has.
    @Test func aPieceThatComesAgain() throws {
        let half = Self.block / 2
        try bring(0..<half, connection: 1)
        let wrong = [UInt8](repeating: 7, count: Self.content.count)
        try bring(half..<Self.block, connection: 1, of: wrong)
        #expect(multipart.verified == Self.block)
        #expect(throws: Failure.takenOver) { try claim(0..<half, connection: 0) }
        try bring(0..<half, connection: 2)
        #expect(multipart.verified == Self.block)
        try bring(half..<Self.block, connection: 2)
        try bring(Self.block..<2 * Self.block, connection: 2, digests: Self.digest(of: Self.block..<2 * Self.block))
        try bring(2 * Self.block..<Self.total, connection: 2, digests: Self.digest(of: 2 * Self.block..<Self.total))
        let finished = try #require(try multipart.finish(total: Self.total))
        #expect(finished.digest == Self.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
    }

    /// A piece that was cut does not count, and its neighbours still do.
    @Test func aPieceThatIsCut() throws {
        try bring(0..<Self.piece)
        try claim(Self.piece..<Self.block, connection: 1).withdraw(digests: [])
        #expect(multipart.verified == Self.piece)
        try bring(Self.piece..<Self.block, connection: 1)
        #expect(multipart.verified == Self.block)
    }

    /// Incomplete blocks cost memory, so their number is limited.
    @Test func tooManyPieces() throws {
        let many = MultipartUpload(id: .random(), total: Limits.uploadSize, function: .xxh128, started: 0)
        func claim(_ number: UInt64) throws(Failure) -> PartClaim {
            let start = number * Self.block
            return try many.claim(start..<start + Self.piece, connection: 1, run: nil) { () throws(Failure) in
                try store.resume(id: many.id, size: nil)
            }
        }
        for number in 0..<32_768 as Range<UInt64> { try claim(number).complete(digests: []) }
        #expect { _ = try claim(32_768) } throws: { ($0 as? Failure)?.code == .busy }
        // The server still accepts whole blocks. One that replaces a piece makes room for another piece.
        _ = try many.claim(0..<Self.block, connection: 1, run: nil) { () throws(Failure) in throw .missingParts }
        _ = try claim(32_768)
    }

    /// Pieces of an earlier push and the first piece of the next push complete a block. The other pieces of the next
    /// push, over an older connection, are accepted and take nothing away.
    @Test func beginsAnewOverTheRestOfAnother() throws {
        let (first, second) = (0..<Self.block / 2, Self.block / 2..<Self.block)
        try bring(Self.piece..<Self.block, connection: 1)
        try bring(first, connection: 8)
        #expect(multipart.verified == Self.block)
        try bring(second, connection: 7)
        #expect(multipart.verified == Self.block)
        try bring(Self.block..<2 * Self.block, connection: 7, digests: Self.digest(of: Self.block..<2 * Self.block))
        try bring(2 * Self.block..<Self.total, connection: 8, digests: Self.digest(of: 2 * Self.block..<Self.total))
        let finished = try #require(try multipart.finish(total: Self.total))
        #expect(finished.digest == Self.content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
    }

    /// Another connection takes part of a block over while the server reads the block. The pieces that were not taken
    /// over count, and the block does not.
    @Test func takenOverWhileItIsRead() throws {
        let half = Self.block / 2
        let short = MultipartUpload(id: .random(), total: Self.block, function: .xxh128, started: 0)
        let reread = RereadContent(try store.resume(id: short.id, size: nil))
        @Sendable func claim(_ range: Range<UInt64>, _ connection: Int) throws(Failure) -> PartClaim {
            try short.claim(range, connection: connection, run: nil) { () throws(Failure) in reread }
        }
        try claim(0..<half, 1).complete(digests: [])
        reread.whileReading.withLock { $0 = { (try? claim(0..<half, 2))?.withdraw(digests: []) } }
        try claim(half..<Self.block, 1).complete(digests: [])
        #expect(short.verified == half && reread.reads.withLock { $0 } == 1)
        #expect(try short.finish(total: Self.block) == nil)
        // The block is read again at the end, and again a connection takes a part over.
        try claim(0..<half, 2).complete(digests: [])
        #expect(short.verified == Self.block && reread.reads.withLock { $0 } == 1)
        reread.whileReading.withLock { $0 = { try? claim(0..<half, 3).complete(digests: []) } }
        #expect(try short.finish(total: Self.block) == nil)
        #expect(try short.finish(total: Self.block) != nil)
        #expect(reread.reads.withLock { $0 } == 3)
    }

    /// If the last byte of a block is sent again and again, the block is read once more, at the end.
    @Test func aBlockIsReadOnceBeforeTheEnd() throws {
        let odd = MultipartUpload(id: .random(), total: Self.block - Self.piece + 1, function: .xxh128, started: 0)
        let reread = RereadContent(try store.resume(id: odd.id, size: nil))
        func claim(_ range: Range<UInt64>) throws(Failure) -> PartClaim {
            try odd.claim(range, connection: 1, run: nil) { () throws(Failure) in reread }
        }
        let last = Self.block - Self.piece
        try claim(0..<last).complete(digests: [])
        for _ in 0..<100 { try claim(last..<last + 1).complete(digests: []) }
        #expect(reread.reads.withLock { $0 } == 1)
        #expect(try odd.finish(total: last + 1) != nil)
        #expect(reread.reads.withLock { $0 } == 2)
    }

    /// A read error does not end the upload. The client gets an error and may try again.
    @Test func unreadable() throws {
        let half = Self.block / 2
        let short = MultipartUpload(id: .random(), total: Self.block, function: .xxh128, started: 0)
        let reread = RereadContent(try store.resume(id: short.id, size: nil))
        reread.isReadable.withLock { $0 = false }
        for range in [0..<half, half..<Self.block] {
            try short.claim(range, connection: 1, run: nil) { () throws(Failure) in reread }.complete(digests: [])
        }
        #expect { _ = try short.finish(total: Self.block) } throws: {
            ($0 as? Failure)?.code == .storageFailed
        }
        #expect(!short.isFinished)
        reread.isReadable.withLock { $0 = true }
        #expect(try short.finish(total: Self.block) != nil)
    }

    /// The last two pieces of a block may become complete at the same moment.
    @Test func manyAtOnce() throws {
        for _ in 0..<200 {
            let short = MultipartUpload(id: .random(), total: Self.block, function: .xxh128, started: 0)
            let reread = RereadContent(try store.resume(id: short.id, size: nil))
            let claims = try (0..<8 as Range<UInt64>).map { number throws(Failure) in
                try short.claim(
                    number * Self.block / 8..<(number + 1) * Self.block / 8, connection: Int(number), run: nil
                ) { () throws(Failure) in reread }
            }
            let threads = claims.map { claim in TestThread { try? claim.complete(digests: []) } }
            for thread in threads { thread.join() }
            #expect(reread.reads.withLock { $0 } == 1)
            #expect(try short.finish(total: Self.block) != nil)
        }
    }
}

/// Content that runs a test's code while it is read.
private final class RereadContent: StagedContent {
    let whileReading = Locked<(@Sendable () -> Void)?>(nil)
    let isReadable = Locked(true)
    let reads = Locked(0)
    private let staged: StagedFile

    init(_ staged: StagedFile) { self.staged = staged }

    var isNew: Bool { staged.isNew }
    var hasReplaced: Bool { staged.hasReplaced }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        try staged.write(bytes, at: offset)
    }

    func clear(_ range: Range<UInt64>) throws(Failure) { try staged.clear(range) }

    func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        reads.withLock { $0 += 1 }
        whileReading.withLock { $0.take() }?()
        return isReadable.withLock { $0 } ? [UInt8](repeating: 1, count: function.size) : nil
    }

    func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> BlockSurvey {
        try staged.survey(of: total, function)
    }

    func trim(to size: UInt64) throws(Failure) { try staged.trim(to: size) }
    func giveBackRoom() { staged.giveBackRoom() }
    func discard() { staged.discard() }
}
