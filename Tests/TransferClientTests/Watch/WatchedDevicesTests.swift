import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct WatchedDevicesTests {
    /// Of each file system one directory is asked about, however many are watched.
    @Test func everyFileSystemIsAskedOnce() throws {
        let memory = try TemporaryDirectory(prefersMemory: true)
        try makeDirectory(memory.path("below"))
        var devices = WatchedDevices()
        var asked: [String] = []
        func isRemote(_ path: String) -> Bool {
            asked.append(path)
            return true
        }
        #expect(devices.isRemote(memory.path, by: isRemote))
        #expect(!devices.isRemote(memory.path("below"), by: isRemote))
        #expect(!devices.isRemote("/nonexistent", by: isRemote))
        #expect(devices.isRemote("/proc", by: isRemote))
        #expect(asked == [memory.path, "/proc"])
    }

    @Test func whatIsHereIsNotRemote() throws {
        var devices = WatchedDevices()
        #expect(!devices.isRemote(try TemporaryDirectory().path))
        #expect(!devices.isRemote("/proc"))
    }
}
