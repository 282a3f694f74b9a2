import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Removal of archived sources after the push.
@Suite struct ArchiveRemovalTests {
    private let sample: ArchiveSample

    init() throws {
        sample = try ArchiveSample()
        try sample.write("d/a", [1])
        try Files.check(link("\(sample.source)/d/a", "\(sample.source)/d/b"), "link")
        try Files.check(symlink("a", "\(sample.source)/d/l"), "symlink")
        try Files.makeDirectory("\(sample.source)/hollow")
    }

    private func remove(_ reports: [UploadReport], _ server: RunningServer) async throws -> [String: SourceKept] {
        let results = try await client(server).removeSources(of: reports)
        var kept: [String: SourceKept] = [:]
        for (report, result) in zip(reports, results) {
            if case .failure(let reason) = result { kept[report.source] = reason }
        }
        return kept
    }

    private func client(_ server: RunningServer) throws -> TransferClient {
        try TransferClient(server: server.address, configuration: .plain { $0.archives = true })
    }

    @Test func allOfATree() async throws {
        try await withServer { server in
            let facts = TreeFacts(sample.source).lines
            let pushed = try await sample.push(server)
            #expect(try await remove(pushed.reports, server).isEmpty)
            #expect(names(in: sample.here.path).isEmpty)
            #expect(sample.stored(server) == facts)
        }
    }

    /// A link whose target has changed stays, and so do the folders above it.
    @Test func whatHasChangedStays() async throws {
        try await withServer { server in
            let pushed = try await sample.push(server)
            let path = "\(sample.source)/d/l"
            #expect(unlink(path) == 0 && symlink("b", path) == 0)
            try sample.write("hollow/new", [1])
            let kept = try await remove(pushed.reports, server)
            #expect(kept[path]?.isOccupied == false)
            #expect(
                kept.filter(\.value.isOccupied).map(\.key).sorted() == ["", "/d", "/hollow"].map { sample.source + $0 })
            #expect(entries(below: sample.source) == ["d/", "d/l", "hollow/", "hollow/new"])
        }
    }

    /// If the source is the server's stored tree, nothing is removed, not even an empty folder.
    @Test func whatIsTheServersOwnStays() async throws {
        try await withServer { server in
            _ = try await sample.push(server)
            let own = server.directory.path("store/copy")
            let before = TreeFacts(own).lines
            let pushed = try await Archived([.path(own)], to: server.address)
            #expect(pushed.reports.allSatisfy { $0.result.isSuccess }, "\(pushed.failures)")
            let kept = try await remove(pushed.reports, server)
            #expect(kept.count == pushed.reports.count)
            #expect(
                Set(TreeFacts(own).lines.map { $0.split(separator: " ")[0] })
                    == Set(before.map { $0.split(separator: " ")[0] }))
        }
    }

    /// A source that the server refused stays.
    @Test func whatIsNotStoredStays() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/copy/d/l"), [7])
            let pushed = try await sample.push(server) { $0.conflict = .fail }
            let stored = pushed.reports.filter { $0.result.isSuccess }
            let kept = try await remove(stored, server)
            #expect(entries(below: sample.source) == ["d/", "d/l"])
            #expect(kept.values.allSatisfy { $0.isOccupied })
        }
    }
}
