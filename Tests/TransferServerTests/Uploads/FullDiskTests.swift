import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Uploads to a real, small file system. Nothing is tested if mounting is not allowed.
    @Suite(.directoryOnly) struct FullDiskTests {
        private static let content = [UInt8](repeating: 7, count: 3 << 20)

        private func upload(_ path: String, size: Int?) -> [UInt8] {
            let begin = Frames.begin(path, size: size.map { UInt64($0) })
            return Frames.hello + begin + Frames.stored(Self.content) + Frames.end(Self.content)
        }

        /// Uploads of known size, small and large, and of unknown size.
        @Test func uploadsFailAndSucceedAgain() async throws {
            let directory = try TemporaryDirectory()
            guard let disk = SmallFileSystem(directory.path("store"), size: "5m") else { return }
            try await serving(in: directory) { server in
                func result(_ frames: [UInt8]) throws -> UploadResult {
                    let client = try server.client()
                    client.send(frames)
                    return try client.result()
                }
                for round in 0..<3 {
                    #expect(try result(upload("first", size: Self.content.count)).code == .committed)
                    #expect(try result(upload("d/second", size: Self.content.count)).code == .insufficientStorage)
                    #expect(try result(upload("third", size: nil)).code == .insufficientStorage)
                    let large = Frames.hello + Frames.begin("fourth", size: 1 << 30, expectsAccept: true)
                    #expect(try result(large).code == .insufficientStorage)
                    #expect(server.tree.filter { $0 != "d" } == ["first"], "round \(round)")
                    #expect(server.content("first") == Self.content)
                    try server.waitUntil("the parts are gone") { server.parts.isEmpty }
                    unlink(disk.path + "/first")
                    #expect(try result(upload("d/second", size: nil)).code == .committed)
                    #expect(server.content("d/second") == Self.content)
                    unlink(disk.path + "/d/second")
                }
            }
        }
    }
}
