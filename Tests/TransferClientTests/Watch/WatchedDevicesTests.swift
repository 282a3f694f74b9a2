import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct WatchedDevicesTests {
    /// The type of each file system is read once, however many directories on it are watched.
    @Test func everyFileSystemIsAskedOnce() throws {
        let memory = try TemporaryDirectory(prefersMemory: true)
        try Files.write(memory.path("below/file"), "x")
        var devices = WatchedDevices()
        var asked: [Int32] = []
        func isRemote(_ directory: SourceDirectory) -> Bool {
            asked.append(directory.number)
            return true
        }
        let directories = try [memory.path, memory.path("below"), "/proc", "/proc/self"].map { try SourceDirectory($0) }
        let answers = directories.map { devices.isRemote($0, by: isRemote) }
        #expect(answers == [true, false, true, false])
        #expect(asked == [directories[0].number, directories[2].number])
    }

    @Test func whatIsHereIsNotRemote() throws {
        var devices = WatchedDevices()
        let directory = try TemporaryDirectory()
        let answers = try [directory.path, "/proc"].map { devices.isRemote(try SourceDirectory($0)) }
        #expect(answers == [false, false])
    }
}
