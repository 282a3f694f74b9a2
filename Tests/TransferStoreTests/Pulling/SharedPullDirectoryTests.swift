import Glibc
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// What other processes do in a directory that is the target of a fetch.
@Suite struct SharedPullDirectoryTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
    }

    @Test func twoDoNotWriteToOnePart() throws {
        let destinations = try (0..<2).map { _ in try PullDirectory(path: temporary.path) }
        let id = UploadID.random()
        let staged = try #require(try destinations[0].resume(id: id))
        #expect(try destinations[1].resume(id: id) == nil)
        #expect(try destinations[1].resume(id: .random()) != nil)
        withExtendedLifetime(staged) {}
    }

    /// A fetch was killed during a sync: the file may exist only in the kernel's memory.
    @Test(arguments: [false, true]) func whatIsInDoubtIsFetchedAgain(isInDoubt: Bool) throws {
        let disk = Disk()
        guard try !FileSystem(of: DirectoryHandle(path: temporary.path, on: disk)).isMemory else { return }
        try Files.write(.six, to: temporary.path("a"))
        if isInDoubt {
            let folder = temporary.path(PullDirectory.partsName)
            try Files.makeDirectory(folder)
            try Files.check("chmod", chmod(folder, 0o700))
            try Files.write([], to: "\(folder)/\(MarkFile.runningPrefix)\(BootID.current)-1", mode: 0o600)
        }
        let destination = try PullDirectory(path: temporary.path)
        let digest = [UInt8].six.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
        #expect(try destination.has(try RelativePath("a"), size: 6, digest: digest) == !isInDoubt)
    }
}
