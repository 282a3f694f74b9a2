import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct FileSystemKindTests {
    @Test(arguments: [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997])
    func othersChangeFilesThereToo(_ type: Int) {
        #expect(FileSystemKind.isRemote(type))
    }

    /// ext4, xfs, btrfs, tmpfs, vfat, exfat, overlayfs.
    @Test(arguments: [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x4D44, 0x2011_BAB0, 0x794C_7630])
    func onlyThisMachineDoes(_ type: Int) {
        #expect(!FileSystemKind.isRemote(type))
    }

    @Test func ofADirectory() throws {
        let directory = try TemporaryDirectory(prefersMemory: true)
        #expect(!FileSystemKind.isRemote(try SourceDirectory(directory.path)))
    }
}
