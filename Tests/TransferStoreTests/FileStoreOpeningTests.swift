import CLinux
import Glibc
import Testing
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct FileStoreOpeningTests {
    /// If the name of a directory above the keys and parts is lost, the keys and parts are lost.
    @Test func allNamesAboveThePartsAreSynced() throws {
        let temporary = try TemporaryDirectory()
        let synced = Locked<Set<ino_t>>([])
        let disk = Disk(interception: { call, body in
            if case .sync(let number) = call {
                var status = stat()
                fstat(number, &status)
                synced.withLock { _ = $0.insert(status.st_ino) }
            }
            return body()
        })
        let path = temporary.path("store")
        let store = try FileStore(
            path: path, durability: .commit, fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), disk: disk)
        for directory in [temporary.path, path, path + "/.transfer"] {
            let inode = try #require(Files.status(directory)?.st_ino)
            #expect(synced.withLock { $0.contains(inode) }, "\(directory)")
        }
        withExtendedLifetime(store) {}
    }
}
