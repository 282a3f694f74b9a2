import Testing
import TransferModel

@testable import TransferIntake

@Suite struct UploadFilterTests {
    @Test(arguments: [0, 1_000_000]) func whatWasAddedIsFoundAndLittleElse(count: Int) {
        let filter = UploadFilter(catalogCount: count)
        let ids = (0..<100_000).map { _ in UploadID.random() }
        filter.add(ids)
        filter.loaded()
        #expect(ids.allSatisfy(filter.mayContain))
        let mistaken = (0..<100_000).count { _ in filter.mayContain(.random()) }
        #expect(mistaken < 1000)
    }

    /// Before the filter has learned what the catalog knows, it excludes no ID.
    @Test func untilItIsLoadedItTellsNothing() {
        let filter = UploadFilter(catalogCount: 1)
        #expect(filter.mayContain(.random()))
        filter.loaded()
        #expect(!filter.mayContain(.random()))
        #expect(!UploadFilter(catalogCount: 0).mayContain(.random()))
        // A catalog that cannot count its uploads may contain any ID.
        #expect(UploadFilter(catalogCount: nil).mayContain(.random()))
    }
}
