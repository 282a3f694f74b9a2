import CAllocations
import Glibc
import TransferClient
import TransferModel
import TransferTestSupport

/// Counts the allocations of an upload of 4 KiB on each side. Client and server are separate processes, so that each
/// count has only one side, and communicate over a real socket about real files.
enum UploadBenchmark {
    private static let contentSize = 4096
    private static let files = 4000
    private static let filesInDirectory = 200

    /// The number of bytes that arrive together varies, and additional waits can only add allocations. Therefore the
    /// smallest count of these rounds is used; in six runs on a busy machine it differed by 0.6 %.
    private static let rounds = 5

    static func allocations() async throws -> [Figure] {
        let directory = try TemporaryDirectory()
        try makeFiles(directory.path("source"))
        let server = try CountedServer(directory: directory.path("store"))
        guard let address = ServerAddress("127.0.0.1:\(server.port)") else {
            throw BenchmarkFailure("The server listens on \(server.port), which is no port.")
        }
        var least = (client: Double.infinity, server: Double.infinity)
        for round in 0...rounds {
            let (client, atServer) = try await push(directory.path("source"), to: address, round, server)
            // The first round also creates threads, buffers and tables, which later rounds reuse.
            guard round > 0 else { continue }
            least = (min(least.client, client), min(least.server, atServer))
        }
        return [
            Figure(name: "Client", value: least.client, unit: Thresholds.unit),
            Figure(name: "Server", value: least.server, unit: Thresholds.unit),
        ]
    }

    private static func push(
        _ source: String, to address: ServerAddress, _ round: Int, _ server: CountedServer
    ) async throws -> (client: Double, server: Double) {
        var configuration = ClientConfiguration()
        configuration.security = .plaintext
        let client = try TransferClient(server: address, configuration: configuration)
        let before = (client: callocations_count(), server: try server.allocations())
        var committed = 0
        for try await event in client.push([.path(source, name: "round-\(round)")]) {
            guard case .finished(let report) = event else { continue }
            guard report.result == .committed else { throw BenchmarkFailure("An upload ended as \(report.result).") }
            committed += 1
        }
        let after = (client: callocations_count(), server: try server.allocations())
        guard committed == files else { throw BenchmarkFailure("\(committed) of \(files) uploads were committed.") }
        return (
            Double(after.client - before.client) / Double(files), Double(after.server - before.server) / Double(files)
        )
    }

    private static func makeFiles(_ root: String) throws {
        let content = Sample.random(contentSize)
        guard mkdir(root, 0o700) == 0 else { throw BenchmarkFailure("Cannot make \(root).") }
        for number in 0..<files {
            let directory = "\(root)/directory-\(number / filesInDirectory)"
            if number % filesInDirectory == 0 { mkdir(directory, 0o700) }
            let file = open("\(directory)/file-\(number)", O_WRONLY | O_CREAT | O_EXCL, 0o600)
            defer { close(file) }
            // All contents differ, although no code depends on that.
            var bytes = content
            withUnsafeBytes(of: number) { bytes.replaceSubrange(0..<$0.count, with: $0) }
            let written = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard written == contentSize else { throw BenchmarkFailure("Cannot write below \(root).") }
        }
    }
}
