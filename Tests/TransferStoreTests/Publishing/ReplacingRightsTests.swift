import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem

@testable import TransferStore

/// Some publications may not replace every file.
@Suite struct ReplacingRightsTests {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
        try fixture.publish("a", .one)
    }

    private func replace(_ mayReplace: @escaping (ContentVersion) -> Bool) throws -> ResultCode? {
        let publication = try fixture.publication("a", .two, .overwrite)
        let outcome = fixture.store.publish([publication], mayReplace: { _, file in mayReplace(file) }).outcomes[0]
        if case .failure(let error) = outcome { return error.code }
        return nil
    }

    @Test func whatIsNotTheirsStays() throws {
        #expect(try replace { _ in false } == .forbidden)
        #expect(Files.read(fixture.path("a")) == .one)
        #expect(try replace { _ in true } == nil)
        #expect(Files.read(fixture.path("a")) == .two)
    }

    /// Another process replaces the file between the check and the rename.
    @Test func whatTookItsPlaceMeanwhileIsAskedAbout() throws {
        try fixture.publish("b", .six)
        let own = fixture.store.version(at: try RelativePath("a"))
        let (old, new) = (fixture.path("b"), fixture.path("a"))
        let code = try replace { file in
            rename(old, new)
            return file == own
        }
        #expect(code == .forbidden)
        #expect(Files.read(fixture.path("a")) == .six)
    }
}
