import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// A large file with little data in it, with the real program on both sides.
@Suite(.ownThreads) struct SparseRunTests {
    private static let size = 1 << 30
    private static let islands = [0, (300 << 20) + 777, (1 << 30) - 70_000]
    private static let count = 70_000

    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
        try makeDirectory(here.path("t"))
        try writeFile(here.path("t/image"), [])
        let number = open(here.path("t/image"), O_WRONLY | O_CLOEXEC)
        defer { close(number) }
        #expect(ftruncate(number, off_t(Self.size)) == 0)
        for island in Self.islands {
            let bytes = randomBytes(Self.count, seed: UInt64(island))
            #expect(bytes.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, off_t(island)) } == Self.count)
        }
    }

    /// Checks the content of the islands, and that the file occupies no more space: the rest is a hole, which can only
    /// contain zeros.
    private func expect(_ path: String) {
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size == Self.size, "\(path)")
        #expect(status.st_blocks * 512 <= 3 * (Self.count + 2 * 4096), "\(path)")
        let number = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(number) }
        for island in Self.islands {
            var bytes = [UInt8](repeating: 0, count: Self.count)
            #expect(
                bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, off_t(island)) } == Self.count)
            #expect(bytes == randomBytes(Self.count, seed: UInt64(island)), "\(path), \(island)")
        }
    }

    private func run(_ arguments: [String]) throws {
        let finished = try Finished(arguments + ["--plaintext"], Surroundings(directory: here.path))
        #expect(finished.end == .exited(0), "\(arguments): \(finished.errors)")
    }

    @Test func itStaysSparseEverywhere() throws {
        let server = try RunningServer()
        try run(["sync", "t/", "\(server.address):/synced"])
        expect("\(server.directory)/synced/image")
        try run(["check", "--checksum", "t/", "\(server.address):/synced"])
        try run(["push", "t/image", "--to", "\(server.address)/pushed"])
        expect("\(server.directory)/pushed/image")
        try run(["copy", "\(server.address):/pushed/image", "\(server.address):/copied"])
        expect("\(server.directory)/copied")
        try run(["sync", "\(server.address):/synced/", "back"])
        expect(here.path("back/image"))
        try run(["pull", "\(server.address):/pushed/image", "-o", "pulled"])
        expect(here.path("pulled"))
        // The content still has its digests.
        try run(["check", "--checksum", "back/", "\(server.address):/synced"])
        #expect(try Finished(["verify", "--dir", server.directory]).end == .exited(0))
    }
}
