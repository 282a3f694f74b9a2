import Glibc
import Testing
import TransferTestSupport

@testable import TransferSimulation

@Suite struct MediumTests {
    /// Somebody removes a directory with what is in it, and makes one of the same name: nothing of the first can be found.
    @Test func aDirectoryThatIsMadeAgainIsEmpty() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        var medium = Medium(root: directory.path, clock: VirtualClock())
        mkdir(directory.path("d"), 0o700)
        medium.makeDirectory("d", in: directory.path)
        medium.replace("d/a", in: directory.path, by: [1])
        #expect(medium.seenPaths.keys.sorted() == ["d/a"])
        medium.forget("d")
        #expect(medium.seenPaths.isEmpty)
        medium.makeDirectory("d", in: directory.path)
        #expect(medium.seenPaths.isEmpty)
        #expect(medium.seenDirectories == ["d"])
        #expect(medium.possibilities(at: "d/a").allSatisfy { $0 == .nothing })
    }
}
