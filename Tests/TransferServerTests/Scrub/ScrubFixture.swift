import CLinux
import Glibc
import TransferPorts
import TransferCatalog
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer
@testable import TransferStore

/// A directory with files stored by a server, and the findings of a scrub of it.
final class ScrubFixture: Sendable {
    struct Outcome {
        let summary: ScrubSummary
        let findings: [ScrubFinding]

        /// Kinds and paths of the findings, sorted.
        var found: [String] { findings.map { "\($0.kind.rawValue) \($0.path)" }.sorted() }

        subscript(path: String) -> ScrubFinding? { findings.first { $0.path == path } }
    }

    let directory: TemporaryDirectory
    private let ids = Locked([String: UploadID]())

    init() throws {
        directory = try TemporaryDirectory()
    }

    func path(_ name: String) -> String { directory.path("store/" + name) }

    /// Pushes files as a client repeats a push: each path keeps its upload ID.
    ///
    /// - Returns: the results, in order.
    @discardableResult
    func push(
        _ files: [(path: String, content: [UInt8])], _ function: DigestFunction = .xxh128
    ) async throws -> [UploadResult] {
        let uploads = files.map { file in
            (
                file.path, file.content,
                ids.withLock { ids in
                    let id = ids[file.path] ?? .random()
                    ids[file.path] = id
                    return id
                }
            )
        }
        let results = Locked([UploadResult]())
        try await serving(in: directory) { server in
            for (path, content, id) in uploads {
                let client = try server.greetedClient(run: .random(in: 0 ... .max))
                client.send(
                    Frames.begin(path, size: UInt64(content.count), id: id, digest: function)
                        + Frames.stored(content) + Frames.end(content, function))
                let result = try client.result()
                results.withLock { $0.append(result) }
            }
        }
        return results.withLock { $0 }
    }

    /// - Parameter disk: disk through which the scrub reads.
    func scrub(repairing: Bool = false, through disk: Disk = Disk()) throws -> Outcome {
        var configuration = Scrub.Configuration(directory: directory.path("store"))
        configuration.repairsCatalog = repairing
        let findings = Locked([ScrubFinding]())
        let files = try StoredFiles(path: configuration.directory, disk: disk)
        let scrub = try Scrub(configuration, files) { finding in findings.withLock { $0.append(finding) } }
        let summary = try scrub.run()
        return Outcome(summary: summary, findings: findings.withLock { $0 })
    }

    /// Changes a byte, and restores the time of modification, like a disk that loses bytes.
    func rot(_ name: String, at offset: Int = 0) {
        var status = stat()
        stat(path(name), &status)
        let number = open(path(name), O_RDWR)
        defer { close(number) }
        var byte: UInt8 = 0
        pread(number, &byte, 1, off_t(offset))
        byte ^= 1
        pwrite(number, &byte, 1, off_t(offset))
        futimens(number, [status.st_atim, status.st_mtim])
    }

    /// Gives the catalog the file's present times, since a disk that loses bytes changes no times.
    func hideTouch(_ name: String) throws {
        let catalog = Catalog(path: path(".transfer/catalog.sqlite"), isDurable: false) { _ in }
        var status = stat()
        stat(path(name), &status)
        var entries: [CatalogEntry] = []
        try catalog.forEachEntry { if $0.path == name { entries.append($0) } }
        try catalog.record(
            entries.map { entry in
                var entry = entry
                entry.version = ContentVersion(FileIdentity(status))
                return entry
            })
    }
}
