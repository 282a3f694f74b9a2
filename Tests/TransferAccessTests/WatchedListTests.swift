import Glibc
import Testing
import TransferKeys
import TransferSystem

@testable import TransferAccess

@Suite struct WatchedListTests {
    /// The clock of a file system may stand still for some milliseconds, so a changed file can look unchanged. If each
    /// change gets a new time, the test shows nothing.
    @Test func twoChangesWithinOneTickAreNoticed() throws {
        let server = try ServerFolder()
        let keys = [KeyPair().key, KeyPair().key]
        let lines = keys.map { Array(AuthorizedKey($0, name: "a").line.utf8) + [UInt8(ascii: "\n")] }
        for _ in 0..<100 {
            var watched = WatchedList<AuthorizedKey>(AccessFolder.keysName)
            write(lines[0], to: server.keysPath)
            let first = watched.refresh(from: server.folder)
            let before = OwnFile.identity(of: server.keysPath)
            #expect(first.list[keys[0]] != nil)
            write(lines[1], to: server.keysPath)
            let isSame = OwnFile.identity(of: server.keysPath) == before
            let second = watched.refresh(from: server.folder)
            #expect(second.list[keys[0]] == nil && second.list[keys[1]] != nil && second.revision > first.revision)
            if isSame { return }
        }
    }

    /// Writes in place: a new file would have another inode number.
    private func write(_ bytes: [UInt8], to path: String) {
        let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(number) }
        #expect(pwrite(number, bytes, bytes.count, 0) == bytes.count)
    }
}
