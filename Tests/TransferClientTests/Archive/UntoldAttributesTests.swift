import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// If a file or folder on the server has more extended attributes than a listing can hold, the server reports that
/// instead of dropping them silently.
@Suite struct UntoldAttributesTests {
    /// Adds more attributes than a listing can hold; false if the file system refuses them.
    private static func addMany(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let value = [CChar](repeating: 7, count: 7_000)
        return ["user.a", "user.b"].allSatisfy { (name: String) in
            clinux_fsetxattr(file, name, value, value.count) == 0
        }
    }

    /// Runs a test on a file system in memory, where files may have many attributes.
    private func withTree(_ body: (RunningServer, TemporaryDirectory) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        guard let memory = SmallFileSystem(directory.path("store")) else { return }
        let server = try await RunningServer(in: directory)
        for path in ["t/few", "t/many", "t/d/in"] { try Files.write("\(memory.path)/\(path)", [1, 2, 3]) }
        let hasMany = ["t/many", "t/d"].allSatisfy { Self.addMany("\(memory.path)/\($0)") }
        let back = try TemporaryDirectory()
        if hasMany { try await body(server, back) } else { print("skipped: no attributes in memory") }
        await server.stop()
        withExtendedLifetime(memory) {}
    }

    @Test func anArchiveSaysSoOfFilesAndFolders() async throws {
        try await withTree { server, back in
            for _ in 0..<2 {
                let pulled = try await Pulled(["t"], from: server.address, to: back.path("in")) { $0.archives = true }
                #expect(pulled.failure == nil)
                #expect(pulled.results.filter { !$0.value.isSuccess } == ["t/many": .unsuitable, "t/d": .unsuitable])
                #expect(pulled.reports.filter { !$0.result.isSuccess }.allSatisfy { $0.message.contains("extended") })
            }
            #expect(entries(below: back.path("in")) == ["t/", "t/d/", "t/d/in", "t/few"])
            let plain = try await Pulled(["t"], from: server.address, to: back.path("plain"))
            #expect(plain.reports.allSatisfy { $0.result == .committed })
        }
    }

    @Test func aSyncSaysSoAndRemovesNothing() async throws {
        try await withTree { server, back in
            let client = try TransferClient(server: server.address("t"), configuration: .plain())
            var options = SyncOptions()
            options.deletes = true
            try Files.write(back.path("in/gone"), [1])
            for _ in 0..<2 {
                let synced = await Synced(client.sync(to: back.path("in"), options: options))
                let failed = synced.changes.filter { !$0.isDone }.map { "\($0.path) \($0.result.name)" }.sorted()
                #expect(failed.contains("many unsuitable") && failed.contains("d unsuitable"), "\(failed)")
                #expect(entries(below: back.path("in")) == ["d/", "d/in", "few", "gone"])
            }
        }
    }
}
