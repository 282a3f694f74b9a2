import Testing
import TransferModel

@Suite struct TrashBatchTests {
    @Test func namesSortByTimeAlsoWithinASecond() {
        let second: Int64 = 1_767_225_600_000_000_000
        let moments: [Int64] = [0, 1_000, 2_500, 999_999_999, 1_000_000_000]
        let names = moments.map { TrashBatch.begun(at: second + $0).name }
        #expect(names == names.sorted())
        #expect(names[1].hasPrefix("2026-01-01T00-00-00Z-00001"))
        #expect(names[3].hasPrefix("2026-01-01T00-00-00Z-f423f"))
        for name in names { #expect(TrashBatch(name)?.name == name) }
    }

    /// The clock of a server can show any time.
    @Test(arguments: [Int64.min, -1, 0, .max]) func anyMomentHasAName(_ moment: Int64) {
        let batch = TrashBatch.begun(at: moment)
        #expect(TrashBatch(batch.name) == batch)
    }

    @Test func otherTextsAreNone() {
        for text in [
            "", "2026-01-01T00-00-00Z-0000000", "2026-01-01T00-00-00Z-0000000G", "2026-01-01 00-00-00Z-00000000",
            "../01-01T00-00-00Z-00000000",
        ] {
            #expect(TrashBatch(text) == nil, "\(text)")
        }
    }
}
