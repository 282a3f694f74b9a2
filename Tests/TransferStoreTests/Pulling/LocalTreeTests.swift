import Testing
import TransferPorts
import TransferTestSupport

@testable import TransferStore

@Suite struct LocalTreeTests {
    @Test func onlyADirectoryWithNothingInItIsEmpty() throws {
        let temporary = try TemporaryDirectory()
        let place = temporary.path("d")
        #expect(LocalTree.isAbsentOrEmpty(place))
        try Files.makeDirectory(place)
        #expect(LocalTree.isAbsentOrEmpty(place))
        try Files.write([], to: "\(place)/.a")
        #expect(!LocalTree.isAbsentOrEmpty(place) && !LocalTree.isAbsentOrEmpty("\(place)/.a"))
    }
}
