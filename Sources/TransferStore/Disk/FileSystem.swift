internal import CLinux
import Glibc
import TransferSystem

/// What the store has to know about the file system that uploads are written to.
package struct FileSystem: Equatable, Sendable {
    /// Whether it is in memory, so that syncs have nothing to do.
    var isMemory: Bool

    /// Whether its syncfs(2) reports failed writes, so that it can replace many fsync(2).
    var syncsAsAWhole: Bool

    package init(isMemory: Bool, syncsAsAWhole: Bool) {
        self.isMemory = isMemory
        self.syncsAsAWhole = syncsAsAWhole
    }

    /// Examines the file system of a directory.
    init(of directory: DirectoryHandle) throws(SystemError) {
        let type = try directory.disk.fileSystemType(directory.number)
        isMemory = [Int(TMPFS_MAGIC), Int(RAMFS_MAGIC)].contains(type)
        syncsAsAWhole = Self.reportsEverything(type) && Self.isKernel(Self.kernelRelease, atLeast: Self.exactSyncfs)
    }

    /// Since this kernel, syncfs(2) fails if the file system could not write its journal. Since 5.8 it fails if content
    /// could not be written (syncfs(2), Errors).
    private static let exactSyncfs = (5, 17)

    /// Other file systems may report as much, but overlayfs does not: it does not pass on the errors of the file system
    /// below it.
    private static func reportsEverything(_ type: Int) -> Bool {
        [Int(EXT4_SUPER_MAGIC), Int(XFS_SUPER_MAGIC)].contains(type)
    }

    /// - Parameter release: as of uname(2), such as "6.1.0-18-amd64".
    static func isKernel(_ release: String, atLeast version: (Int, Int)) -> Bool {
        let numbers = release.split(separator: ".", maxSplits: 2).map { Int($0.prefix { $0.isWholeNumber }) ?? 0 }
        return numbers.count >= 2 && (numbers[0], numbers[1]) >= version
    }

    private static var kernelRelease: String {
        var name = utsname()
        uname(&name)
        return withUnsafeBytes(of: name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
