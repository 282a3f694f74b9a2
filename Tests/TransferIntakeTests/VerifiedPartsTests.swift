import Testing
import TransferTestSupport

@testable import TransferIntake

@Suite struct VerifiedPartsTests {
    private static let total: UInt64 = 40

    private static func part(_ range: Range<UInt64>, _ connection: Int = 0) -> VerifiedParts.Part {
        VerifiedParts.Part(range: range, connection: connection, digests: range.map { UInt8($0) })
    }

    private static func range(_ generator: inout SplitMix64) -> Range<UInt64> {
        let start = UInt64.random(in: 0..<total, using: &generator)
        return start..<UInt64.random(in: start + 1...min(total, start + 8), using: &generator)
    }

    /// Against a list that is searched from one end to the other.
    @Test(arguments: 0..<20 as Range<UInt64>) func findsWhatALookAtAllPartsFinds(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var parts = VerifiedParts()
        var model: [VerifiedParts.Part] = []
        for round in 0..<300 {
            let range = Self.range(&generator)
            let newest = model.filter { $0.range.overlaps(range) }.map(\.connection).max()
            #expect(parts.newestConnection(in: range) == newest, "seed \(seed), round \(round)")
            model.removeAll { $0.range.overlaps(range) }
            if Bool.random(using: &generator) {
                parts.insert(Self.part(range, round))
                model.append(Self.part(range, round))
            } else {
                parts.remove(in: range)
            }
            #expect(parts.isEmpty == model.isEmpty)
            #expect(parts.end == model.map(\.range.upperBound).max() ?? 0)
            #expect(parts.size == model.reduce(0) { $0 + UInt64($1.range.count) }, "seed \(seed), round \(round)")
            let isWhole = Set(model.flatMap(\.range)).count == Self.total
            #expect((parts.digests(total: Self.total) != nil) == isWhole, "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func digestsAreInTheOrderOfTheUpload(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var parts = VerifiedParts()
        for start in stride(from: 0, to: Self.total, by: 4).shuffled(using: &generator) {
            #expect(parts.digests(total: Self.total) == nil, "seed \(seed)")
            parts.insert(Self.part(start..<start + 4))
        }
        #expect(parts.digests(total: Self.total) == Array(0..<UInt8(Self.total)), "seed \(seed)")
        #expect(parts.digests(total: Self.total + 1) == nil)
    }

    @Test func neighboursDoNotOverlap() {
        var parts = VerifiedParts()
        parts.insert(Self.part(0..<4, 1))
        parts.insert(Self.part(8..<12, 2))
        #expect(parts.newestConnection(in: 4..<8) == nil)
        parts.remove(in: 4..<8)
        parts.insert(Self.part(4..<8, 3))
        #expect(parts.digests(total: 12) == Array(0..<12))
        #expect(parts.newestConnection(in: 3..<4) == 1)
        #expect(parts.newestConnection(in: 0..<12) == 3)
    }

    /// What nobody has brought is not there, however small it is.
    @Test func nothingIsNoContent() {
        #expect(VerifiedParts().digests(total: 0) == nil)
    }
}
