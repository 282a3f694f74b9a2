import Testing
import TransferCatalog
import TransferModel
import TransferProtocol

@testable import TransferServer

@Suite struct UploadResultStoreTests {
    /// Where it is stored is told unless it is the very name that was asked for.
    @Test(arguments: [("\u{E9}", "\u{E9}", nil), ("\u{E9}", "e\u{301}", "\u{E9}"), ("K", "\u{212A}", "K")])
    func thePathIsToldByItsBytes(_ stored: String, _ asked: String, _ told: String?) {
        let entry = CatalogEntry(id: .random(), state: .committed, path: stored, size: 1, begun: 0)
        let result = UploadResult(again: entry, run: nil, path: asked)
        #expect(result.storedPath.map { Array($0.utf8) } == told.map { Array($0.utf8) })
    }
}
