import Testing
import TransferPorts
import TransferModel

@testable import TransferStore

@Suite struct DurableDirectoriesTests {
    private let directories = DurableDirectories()

    @Test func whatIsDoubtedIsNotDurable() throws {
        let path = try RelativePath("a")
        directories.insert([path])
        #expect(directories.contains(path))
        directories.doubt([path])
        #expect(!directories.contains(path))
        directories.insert([path])
        #expect(!directories.contains(path))
        #expect(throws: Failure.self) { try directories.checkTrust(in: path) }
    }

    @Test func tooManyToRememberAreAll() throws {
        directories.doubt(try (0...DurableDirectories.most).map { try RelativePath("\($0)") })
        #expect(throws: Failure.self) { try directories.checkTrust(in: try RelativePath("another")) }
    }
}
