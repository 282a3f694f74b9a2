import Testing
import TransferPorts
import TransferModel

@testable import TransferStore

@Suite struct TargetNameTests {
    /// The content is equal up to the end of the shorter file.
    @Test func aFileThatBeginsAlikeIsAnother() throws {
        let fixture = try StoreFixture()
        #expect(try fixture.publish("a", .six) == .committed("a"))
        #expect(try fixture.publish("a", Array([UInt8].six.prefix(3))) == .committed("a-1"))
        #expect(Files.read(fixture.path("a")) == .six)
    }
}
