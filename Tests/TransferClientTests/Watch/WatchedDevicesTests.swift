import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct WatchedDevicesTests {
    /// Of each file system one directory is asked about, however many are watched.
    @Test func everyFileSystemIsAskedOnce() throws {
        let memory = try TemporaryDirectory(prefersMemory: true)
        try Files.write(memory.path("below/file"), "x")
        var devices = WatchedDevices()
        var asked: [String] = []
        func isRemote(_ path: String) -> Bool {
            asked.append(path)
            return true
        }
        let paths = [memory.path, memory.path("below"), "/nonexistent", "/proc", "/proc/self"]
        let answers = paths.map { devices.isRemote($0, by: isRemote) }
        #expect(answers == [true, false, false, true, false])
        #expect(asked == [memory.path, "/proc"])
    }

    @Test func whatIsHereIsNotRemote() throws {
        var devices = WatchedDevices()
        let directory = try TemporaryDirectory()
        let answers = [directory.path, "/proc"].map { devices.isRemote($0) }
        #expect(answers == [false, false])
    }
}
