import Testing
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferIntake

@Suite struct VerifiedPartsTests {
    private static let block = UInt64(Limits.blockSize)
    private static let digestSize = 2

    /// Makes a part of whole blocks.
    private static func part(_ blocks: Range<UInt64>, _ connection: Int = 0, total: UInt64 = .max) -> VerifiedParts.Part
    {
        VerifiedParts.Part(
            RecordedPart(
                blocks.lowerBound * block..<min(total, blocks.upperBound * block), digests: blocks.flatMap(digest)),
            connection: connection)
    }

    private static func piece(_ range: Range<UInt64>, _ connection: Int = 0) -> VerifiedParts.Part {
        VerifiedParts.Part(RecordedPart(range, digests: []), connection: connection)
    }

    private static func digest(of block: UInt64) -> [UInt8] { [UInt8(block), UInt8(100 + block)] }

    /// A list of quarters of blocks, each with the connection that sent it, and the set of blocks that have a digest.
    private struct Model {
        static let unit = VerifiedPartsTests.block / 4
        /// The last block has three quarters.
        static let units = 4 * 9 + 3
        static let total = UInt64(units) * unit

        var owners = [Int?](repeating: nil, count: units)
        var digested: Set<UInt64> = []

        static func units(of range: Range<UInt64>) -> Range<Int> {
            Int(range.lowerBound / unit)..<Int(range.upperBound / unit)
        }

        static func block(_ index: UInt64) -> Range<UInt64> {
            index * VerifiedPartsTests.block..<min(total, (index + 1) * VerifiedPartsTests.block)
        }

        mutating func set(_ range: Range<UInt64>, _ owner: Int?, isWhole: Bool) {
            for unit in Self.units(of: range) {
                owners[unit] = owner
                if isWhole { digested.insert(UInt64(unit / 4)) } else { digested.remove(UInt64(unit / 4)) }
            }
        }

        func covers(_ range: Range<UInt64>) -> Bool { owners[Self.units(of: range)].allSatisfy { $0 != nil } }
    }

    /// Compares the parts with a list that is searched linearly.
    @Test(arguments: 0..<40 as Range<UInt64>) func findsWhatALookAtAllPartsFinds(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var parts = VerifiedParts()
        var model = Model()
        for round in 0..<400 {
            let index = UInt64.random(in: 0...9, using: &generator)
            let blocks = index..<min(10, index + UInt64.random(in: 1...3, using: &generator))
            let whole = Self.part(blocks, round, total: Model.total)
            let block = Model.block(index)
            let units = Model.units(of: block)
            let first = Int.random(in: units, using: &generator)
            let last = Int.random(in: first..<units.upperBound, using: &generator) + 1
            let piece = UInt64(first) * Model.unit..<UInt64(last) * Model.unit
            let newest = model.owners[first..<last].compactMap(\.self).max()
            #expect(parts.newestConnection(in: piece) == newest, "seed \(seed), round \(round)")
            switch Int.random(in: 0..<8, using: &generator) {
            case 0, 1:
                parts.insert(whole)
                model.set(whole.range, round, isWhole: true)
            case 2, 3, 4:
                guard piece != block else { continue }
                parts.insert(Self.piece(piece, round % 3))
                model.set(piece, round % 3, isWhole: false)
            case 5:
                parts.remove(in: piece)
                model.set(piece, nil, isWhole: false)
            default:
                guard model.covers(block), !model.digested.contains(index) else { continue }
                parts.complete(block, digest: Self.digest(of: index))
                model.digested.insert(index)
            }
            Self.compare(parts, model, "seed \(seed), round \(round)")
        }
    }

    private static func compare(_ parts: VerifiedParts, _ model: Model, _ comment: Comment) {
        let there = model.owners.indices.filter { model.owners[$0] != nil }
        #expect(parts.isEmpty == there.isEmpty, comment)
        #expect(parts.size == UInt64(there.count) * Model.unit, comment)
        #expect(parts.end == there.last.map { UInt64($0 + 1) * Model.unit } ?? 0, comment)
        let contiguous = model.owners.firstIndex(of: nil) ?? Model.units
        #expect(parts.contiguousEnd == UInt64(contiguous) * Model.unit, comment)
        var found: [UInt64] = []
        parts.forEachBlock(digestSize: digestSize) { index, digest in
            found.append(index)
            #expect(Array(digest) == self.digest(of: index), comment)
        }
        let expected = (0...9).filter { model.covers(Model.block($0)) && model.digested.contains($0) }
        #expect(found == expected, comment)
        for index in 0...9 as ClosedRange<UInt64> {
            #expect(parts.cover(Model.block(index)) == model.covers(Model.block(index)), comment)
        }
        let digests = expected.count == 10 ? (0...9).flatMap { self.digest(of: $0) } : nil
        #expect(parts.digests(total: Model.total) == digests, comment)
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func digestsAreInTheOrderOfTheUpload(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var parts = VerifiedParts()
        for start in stride(from: 0 as UInt64, to: 40, by: 4).shuffled(using: &generator) {
            #expect(parts.digests(total: 40 * Self.block) == nil, "seed \(seed)")
            parts.insert(Self.part(start..<start + 4))
        }
        #expect(parts.digests(total: 40 * Self.block) == (0..<40).flatMap(Self.digest), "seed \(seed)")
        #expect(parts.digests(total: 40 * Self.block + 1) == nil)
    }

    @Test func neighboursDoNotOverlap() {
        var parts = VerifiedParts()
        parts.insert(Self.part(0..<4, 1))
        parts.insert(Self.part(8..<12, 2))
        #expect(parts.newestConnection(in: 4 * Self.block..<8 * Self.block) == nil)
        parts.remove(in: 4 * Self.block..<8 * Self.block)
        parts.insert(Self.part(4..<8, 3))
        #expect(parts.digests(total: 12 * Self.block) == (0..<12).flatMap(Self.digest))
        #expect(parts.newestConnection(in: 4 * Self.block - 1..<4 * Self.block) == 1)
        #expect(parts.newestConnection(in: 0..<12 * Self.block) == 3)
    }

    /// The pieces that one connection sent become one part when their block is complete, so memory stays flat.
    @Test func piecesBecomeABlock() {
        var parts = VerifiedParts()
        for number in 0..<8 as Range<UInt64> {
            parts.insert(Self.piece(number * Self.block / 8..<(number + 1) * Self.block / 8, 4))
        }
        #expect(parts.pieces == 8 && parts.size == Self.block && parts.digests(total: Self.block) == nil)
        parts.complete(0..<Self.block, digest: [1, 2])
        #expect(parts.pieces == 0 && parts.digests(total: Self.block) == [1, 2])
        // Pieces of two connections stay separate, in two runs.
        for number in 0..<8 as Range<UInt64> {
            parts.insert(Self.piece(number * Self.block / 8..<(number + 1) * Self.block / 8, number < 3 ? 4 : 5))
        }
        parts.complete(0..<Self.block, digest: [3, 4])
        #expect(parts.pieces == 2 && parts.digests(total: Self.block) == [3, 4])
        #expect(parts.newestConnection(in: 0..<1) == 4)
    }

    /// An upload without parts has no digest, even with a size of zero.
    @Test func nothingIsNoContent() {
        #expect(VerifiedParts().digests(total: 0) == nil)
    }

    /// A block was read while another connection had begun to write to it: the digest of the old bytes does not count
    /// for the new ones.
    @Test func aBlockThatIsNotThereHasNoDigest() {
        let block = UInt64(Limits.blockSize)
        var parts = VerifiedParts()
        parts.complete(0..<block, digest: [UInt8](repeating: 9, count: 16))
        for (connection, range) in [0..<block / 2, block / 2..<block].enumerated() {
            parts.insert(.init(RecordedPart(range, digests: []), connection: connection))
        }
        #expect(parts.undigestedBlocks(of: block) == [0..<block])
        #expect(parts.digests(total: block) == nil)
    }
}
