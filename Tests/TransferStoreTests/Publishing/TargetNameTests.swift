import Testing
import TransferPorts
import TransferModel

@testable import TransferStore

@Suite struct TargetNameTests {
    /// As far as the shorter one goes, nothing tells them apart.
    @Test func aFileThatBeginsAlikeIsAnother() throws {
        let fixture = try StoreFixture()
        #expect(try fixture.publish("a", .six) == .committed("a"))
        #expect(try fixture.publish("a", Array([UInt8].six.prefix(3))) == .committed("a-1"))
        #expect(Files.read(fixture.path("a")) == .six)
    }
}
