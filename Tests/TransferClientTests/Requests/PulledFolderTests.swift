import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// Pulls of folders that the client already has; the client compares each by one digest.
@Suite struct PulledFolderTests {
    private let here: TemporaryDirectory
    private static let folders = [("t", 5), ("t/a", 700), ("t/a/deep", 3), ("t/b/c", 20)]
    private static var count: Int { folders.reduce(0) { $0 + $1.1 } }

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private func pull(
        _ server: RunningServer, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Pulled {
        try await Pulled(["t"], from: server.address, to: out) { configuration in
            configuration.asksByFolder = true
            configuration.conflict = .overwrite
            change(&configuration)
        }
    }

    private func files(_ pulled: Pulled) -> Int { pulled.reports.count + pulled.folders.reduce(0) { $0 + $1.files } }

    private func withTree(_ body: (RunningServer) async throws -> Void) async throws {
        try await withServer { server in
            for (folder, count) in Self.folders {
                for number in 0..<count {
                    try Files.write(server.directory.path("store/\(folder)/f\(number)"), "\(folder) \(number)")
                }
            }
            try Files.makeDirectory(server.directory.path("store/t/nothing"))
            let first = try await pull(server)
            #expect(first.failure == nil && first.folders.isEmpty && first.reports.count == Self.count)
            try await body(server)
        }
    }

    private func checkTree(of server: RunningServer) {
        let there = Files.tree(server.directory.path("store/t"))
        #expect(Files.tree("\(out)/t").sorted() == there.sorted())
        for path in there {
            #expect(Files.read("\(out)/t/\(path)") == Files.read(server.directory.path("store/t/\(path)")), "\(path)")
        }
    }

    @Test(arguments: [1, 4]) func anUnchangedTreeIsHereByItsFolders(lanes: Int) async throws {
        try await withTree { server in
            let again = try await pull(server) { $0.lanes = .fixed(lanes) }
            #expect(again.failure == nil && again.reports.isEmpty && files(again) == Self.count)
            #expect(again.folders.map(\.source).sorted() == Self.folders.map(\.0).sorted())
            #expect(again.folders.allSatisfy { $0.storedPath == $0.source })
            checkTree(of: server)
        }
    }

    @Test(arguments: 0..<8) func whatDiffersIsFetched(_ change: Int) async throws {
        try await withTree { server in
            let (there, here) = (server.directory.path("store/t/a/f7"), "\(out)/t/a/f7")
            switch change {
            case 0: try Files.write(there, "other content")
            case 1: try Files.write(server.directory.path("store/t/a/new"), "new")
            case 2: unlink(here)
            case 3: try Files.write(here, "t/a 8")  // As long as the file on the server.
            case 4: try Files.write(server.directory.path("store/t/b/x/y/new"), "new")
            case 5: rmdir("\(out)/t/nothing")
            case 6:
                unlink(here)
                symlink("f8", here)
            default: utimes(there, nil)
            }
            let again = try await pull(server)
            #expect(again.failure == nil)
            checkTree(of: server)
            #expect(again.folders.contains { $0.source == "t/a" } == (change == 4 || change == 5))
            // The next pull finds the file here.
            let third = try await pull(server)
            #expect(
                third.reports.allSatisfy { $0.result == .alreadyStored } && files(third) == Files.tree("\(out)/t").count
            )
        }
    }

    /// A local file that no pull has stored is read, whatever its size and time are.
    @Test func whatOnlySeemsTheSameIsCompared() async throws {
        try await withTree { server in
            try Files.write("\(out)/t/b/c/f3", "t/b/c 9")
            #expect(try await pull(server).reports.contains { $0.source == "t/b/c/f3" && $0.result == .committed })
            checkTree(of: server)
        }
    }

    @Test func whoComparesContentOrSkipsIsToldOfEachFile() async throws {
        try await withTree { server in
            let compared = try await pull(server) { $0.comparesContent = true }
            #expect(compared.folders.isEmpty && compared.reports.count == Self.count)
            let skipped = try await pull(server) { $0.conflict = .skip }
            #expect(skipped.folders.isEmpty && skipped.reports.allSatisfy { $0.result == .skipped })
        }
    }

    /// Further files in the target are neither removed nor a reason to fetch any.
    @Test func moreHereThanThere() async throws {
        try await withTree { server in
            try Files.write("\(out)/t/a/own", "mine")
            let again = try await pull(server)
            #expect(again.failure == nil && files(again) == Self.count)
            #expect(Files.read("\(out)/t/a/own") == Array("mine".utf8))
            #expect(again.reports.allSatisfy { $0.result == .alreadyStored })
        }
    }

    @Test func aLostConnection() async throws {
        try await withTree { server in
            let proxy = CuttingProxy(to: server.port, cuts: (1..<8).map { .init(down: 120 * $0) })
            let again = try await Pulled(["t"], from: proxy.address, to: out) { configuration in
                configuration.asksByFolder = true
                configuration.conflict = .overwrite
            }
            proxy.stop()
            #expect(again.failure == nil && files(again) == Self.count)
        }
    }
}
