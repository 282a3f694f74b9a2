import CLinux
import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// A preview of a pull: the files that would be fetched, and their size.
@Suite struct PullPreviewTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private func withTree(_ body: (RunningServer) async throws -> Void) async throws {
        try await withServer { server in
            for path in ["t/a", "t/b", "t/d/c", "t/d/big"] {
                try Files.write(server.directory.path("store/\(path)"), path)
            }
            try Files.write(server.directory.path("store/t/d/big"), SplitMix64.bytes(seed: 1, 9 << 20))
            try Files.makeDirectory(server.directory.path("store/t/nothing"))
            try await body(server)
        }
    }

    private func preview(
        _ server: RunningServer, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Pulled {
        try await Pulled([Download("t"), Download("gone")], from: server.address, to: out, isPreview: true, change)
    }

    /// All observable attributes of the target directory and its entries.
    private func facts() -> [String] {
        ([out] + Files.tree(out).map { "\(out)/\($0)" } + ["\(out)/t", "\(out)/t/d"]).map { path in
            var status = stat()
            guard lstat(path, &status) == 0 else { return "\(path): \(errno)" }
            let changed = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
            return "\(path) \(status.st_ino) \(status.st_size) \(changed)"
        }
    }

    @Test func nothingIsMade() async throws {
        try await withTree { server in
            let preview = try await preview(server)
            #expect(preview.failure == nil && preview.results == ["gone": .notFound])
            #expect(preview.planned.map(\.path).sorted() == ["t/a", "t/b", "t/d/big", "t/d/c"])
            #expect(preview.planned.first { $0.path == "t/d/big" }?.size == 9 << 20)
            #expect(!isDirectory(out))
        }
    }

    @Test func nothingIsChanged() async throws {
        try await withTree { server in
            _ = try await Pulled(["t"], from: server.address, to: out)
            try Files.write(server.directory.path("store/t/a"), "other")
            try Files.write("\(out)/t/b", "mine")
            unlink("\(out)/t/d/big")
            let before = facts()
            let preview = try await preview(server) { $0.asksByFolder = true }
            #expect(preview.planned.map(\.source).sorted() == ["t/a", "t/b", "t/d/big"])
            #expect(preview.results["t/d/c"] == .alreadyStored && preview.folders.isEmpty)
            let skipping = try await self.preview(server) { $0.conflict = .skip }
            #expect(skipping.planned.map(\.source) == ["t/d/big"] && skipping.results["t/a"] == .skipped)
            let failing = try await self.preview(server) { $0.conflict = .fail }
            #expect(failing.planned.map(\.source) == ["t/d/big"] && failing.results["t/a"] == .pathConflict)
            #expect(facts() == before)
        }
    }

    /// More files than a plan lets wait and more than the event channel holds.
    @Test func manyFiles() async throws {
        try await withServer { server in
            for number in 0..<9_000 { try Files.write(server.directory.path("store/t/f\(number)"), []) }
            let preview = try await Pulled([Download("t")], from: server.address, to: out, isPreview: true)
            #expect(preview.failure == nil && preview.planned.count == 9_000)
        }
    }

    @Test func aDirectoryThatIsNoneIsSaid() async throws {
        try await withTree { server in
            try Files.write(out, "mine")
            #expect(try await preview(server).failure?.reason == .rejected(.targetFailed))
        }
    }

    // MARK: Totals

    @Test(arguments: [false, true]) func totalsAreToldOnce(_ isPreview: Bool) async throws {
        try await withTree { server in
            let downloads = [Download("t"), Download("gone"), Download("t/*", isPattern: true)]
            let pulled = try await Pulled(downloads, from: server.address, to: out, isPreview: isPreview) {
                ($0.countsAhead, $0.conflict) = (true, .overwrite)
            }
            // All files but two are requested twice, and the missing one counts.
            let bytes: UInt64 = 2 * (3 + 3 + 5 + (9 << 20))
            #expect(pulled.counted.map(\.files) == [9])
            #expect(pulled.counted.map(\.bytes) == [bytes])
            #expect(pulled.reports.count + pulled.planned.count == 9)
        }
    }

    @Test func foldersThatAreHereCount() async throws {
        try await withTree { server in
            _ = try await Pulled(["t"], from: server.address, to: out)
            let again = try await Pulled(["t"], from: server.address, to: out) {
                ($0.countsAhead, $0.asksByFolder) = (true, true)
            }
            let known = again.folders.reduce(0) { $0 + $1.files }
            #expect(again.counted.map(\.files) == [4])
            #expect(known + again.reports.count == 4)
        }
    }

    @Test func nobodyIsToldWhoDidNotAsk() async throws {
        try await withTree { server in
            let pulled = try await Pulled(["t"], from: server.address, to: out)
            #expect(pulled.counted.isEmpty)
        }
    }

    // MARK: Remaining downloads

    @Test func whatHasNoReportIsLeft() async throws {
        let left = LeftBehind()
        let client = try TransferClient(
            server: try #require(ServerAddress("127.0.0.1:1")), configuration: .plain { $0.retryFor = 0 })
        let downloads = [
            Download("a/b"), Download("x/./y", name: "y"), Download("*.jpg", isPattern: true), Download(""),
            Download("a/b"),
        ]
        let events = client.pull(downloads, to: out, isPreview: false) { left.set($0) }
        #expect(await all(events).failure?.reason == .unreachable)
        #expect(
            Set(left.all) == [
                PullRemainder("a/b", to: "b"), PullRemainder("x/y", to: "y"),
                PullRemainder("*.jpg", to: nil, isPattern: true), PullRemainder("", to: nil),
            ])
        #expect(left.all.count == 4)
    }

    @Test func whoIsStoppedKnowsWhatIsMissing() async throws {
        try await withServer { server in
            for number in 0..<40 {
                try Files.write(server.directory.path("store/t/f\(number)"), SplitMix64.bytes(seed: 2, 300_000))
            }
            let left = LeftBehind()
            let client = try TransferClient(server: server.address, configuration: .plain())
            let events = client.pull([Download("t")], to: out, isPreview: false) { left.set($0) }
            var done: Set<String> = []
            do throws(TransferFailure) {
                for try await event in events {
                    guard case .finished(let report) = event else { continue }
                    done.insert(report.source)
                    events.cancel()
                }
            } catch {
                #expect(error.reason == .cancelled)
                let missing = Set(left.all.map(\.source))
                #expect(missing.isDisjoint(with: done))
                #expect(missing.union(done).count == 40 && Files.tree("\(out)/t").count == done.count)
            }
        }
    }
}

/// Downloads without a result when the pull ended.
private final class LeftBehind: Sendable {
    private let rest = Locked<[PullRemainder]>([])

    var all: [PullRemainder] { rest.withLock { $0 } }

    func set(_ left: [PullRemainder]) { rest.withLock { $0 = left } }
}
