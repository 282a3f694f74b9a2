import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// With a backup folder, a sync moves files that it replaces or removes to a folder of the target.
extension SyncTests {
    /// The direction of a sync; most tests run in both.
    enum Direction: CaseIterable {
        case push, pull
    }

    /// Makes the target equal to the source, and keeps replaced and removed files in `old/kept`.
    private func sync(
        _ direction: Direction, _ server: RunningServer, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> Synced {
        let options = { (options: inout SyncOptions) in
            (options.deletes, options.backupFolder) = (true, "old/kept")
            change(&options)
        }
        return direction == .push ? try await push(server, options) : try await pull(server, options)
    }

    private func places(_ direction: Direction, _ server: RunningServer) -> (source: String, target: String) {
        let copy = server.directory.path("store/copy")
        return direction == .push ? (source, copy) : (copy, back)
    }

    private func files(_ top: String) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: Files.tree(top).filter { !$0.hasSuffix("/") && !$0.hasPrefix(".transfer") }.map {
                ($0, Files.read("\(top)/\($0)") ?? [])
            })
    }

    @Test(arguments: Direction.allCases) func whatGoesIsKeptInTheFolder(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            for (path, content) in [("a", [1]), ("d/b", [2]), ("gone/c", [3]), ("thing", [4])] as [(String, [UInt8])] {
                try write(path, content, in: source)
            }
            let first = try await sync(direction, server)
            #expect(first.failures == [] && files(target) == files(source))
            try write("a", [1, 1], in: source)
            try write("d/b", [2, 2], in: source)
            TemporaryDirectory.remove("\(source)/gone")
            #expect(unlink("\(source)/thing") == 0)
            try write("thing/inside", [4, 4], in: source)
            let second = try await sync(direction, server)
            #expect(second.failures == [], "\(second.failures)")
            let kept: [String: [UInt8]] = [
                "old/kept/a": [1], "old/kept/d/b": [2], "old/kept/gone/c": [3], "old/kept/thing": [4],
            ]
            #expect(files(target) == files(source).merging(kept) { $1 })
            // The backup folder is left out of the comparison, so the next sync neither sees nor removes it.
            let third = try await sync(direction, server)
            #expect(third.lines == [] && third.failures == [], "\(third.lines)")
            #expect(files(target) == files(source).merging(kept) { $1 })
        }
    }

    /// An earlier backup is not overwritten, not even if the name first belonged to a file and now belongs to a folder.
    @Test(arguments: Direction.allCases) func whatIsKeptIsNotReplaced(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            try write("a", [0], in: source)
            try write("d", [0], in: source)
            _ = try await sync(direction, server)
            for number in 1...3 as ClosedRange<UInt8> {
                try write("a", Array(repeating: number, count: Int(number) + 1), in: source)
                TemporaryDirectory.remove("\(source)/d")
                try write("d/inside", Array(repeating: number, count: Int(number) + 1), in: source)
                let synced = try await sync(direction, server)
                #expect(synced.failures == [], "\(synced.failures)")
            }
            let kept = files(target).filter { $0.key.hasPrefix("old/kept/") }
            let contents = kept.map { ($0.key.utf8.last == UInt8(ascii: "a") ? "a" : "d", $0.value) }
            #expect(Set(contents.filter { $0.0 == "a" }.map(\.1)) == [[0], [1, 1], [2, 2, 2]], "\(kept)")
            #expect(Set(contents.filter { $0.0 == "d" }.map(\.1)) == [[0], [1, 1], [2, 2, 2]], "\(kept)")
            #expect(kept["old/kept/a"] == [0] && kept["old/kept/d"] == [0])
        }
    }

    @Test(arguments: Direction.allCases) func whatCannotBeKeptStays(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            for path in ["a", "gone", "one"] { try write(path, [1], in: source) }
            #expect(link("\(source)/one", "\(source)/two") == 0)
            _ = try await sync(direction, server)
            try write("old", [7], in: target)
            try write("a", [2, 2], in: source)
            #expect(unlink("\(source)/gone") == 0)
            let before = files(target)
            let synced = try await sync(direction, server) { $0.deletes = false }
            #expect(synced.failures.count == 1 && synced.failures[0].hasPrefix("changed a: "), "\(synced.failures)")
            #expect(synced.failures[0].contains("It stays, because old/kept cannot keep it."), "\(synced.failures)")
            #expect(files(target) == before)
            // A backup failure prevents the removals of the sync, like every other failure.
            let removing = try await sync(direction, server)
            #expect(removing.summary?.deletionStop != nil && files(target) == before)
            #expect(unlink("\(target)/old") == 0)
            let again = try await sync(direction, server)
            #expect(again.failures == [] && files(target)["old/kept/gone"] == [1], "\(again.failures)")
        }
    }

    /// A name that becomes a hard link of another file: its old content is kept.
    @Test(arguments: Direction.allCases) func aNameThatBecomesAnotherOnesIsKept(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            try write("one", [1], in: source)
            try write("two", [2, 2], in: source)
            _ = try await sync(direction, server)
            #expect(unlink("\(source)/two") == 0 && link("\(source)/one", "\(source)/two") == 0)
            let synced = try await sync(direction, server)
            #expect(synced.failures == [] && files(target)["two"] == [1], "\(synced.failures)")
            #expect(files(target)["old/kept/two"] == [2, 2])
        }
    }

    /// A link is kept whether a file, a hard link, another link or a folder takes its place.
    @Test(arguments: Direction.allCases) func linksThatGiveWayAreKept(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            let names = ["file", "name", "link", "folder", "same"]
            try write("a", [1], in: source)
            for name in names { #expect(symlink("to-\(name)", "\(source)/\(name)") == 0) }
            let first = try await sync(direction, server)
            #expect(first.failures == [], "\(first.failures)")
            for name in names.dropLast() { #expect(unlink("\(source)/\(name)") == 0) }
            try write("file", [2], in: source)
            #expect(link("\(source)/a", "\(source)/name") == 0)
            #expect(symlink("elsewhere", "\(source)/link") == 0)
            try write("folder/inside", [3], in: source)
            let second = try await sync(direction, server)
            #expect(second.failures == [], "\(second.failures)")
            #expect(Files.link("\(target)/link") == "elsewhere" && Files.link("\(target)/same") == "to-same")
            #expect(Files.read("\(target)/file") == [2] && Files.read("\(target)/name") == [1])
            #expect(Files.read("\(target)/folder/inside") == [3])
            let kept = Files.tree("\(target)/old/kept")
            #expect(kept == ["file", "folder", "link", "name"])
            for name in kept { #expect(Files.link("\(target)/old/kept/\(name)") == "to-\(name)") }
        }
    }

    @Test(arguments: Direction.allCases) func aLinkThatCannotBeKeptStays(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            try write("z", [9], in: source)
            for name in ["a", "b", "c"] { #expect(symlink("to-\(name)", "\(source)/\(name)") == 0) }
            _ = try await sync(direction, server)
            try write("old", [7], in: target)
            for name in ["a", "b", "c"] { #expect(unlink("\(source)/\(name)") == 0) }
            try write("a", [1], in: source)
            #expect(symlink("elsewhere", "\(source)/b") == 0)
            try write("c/inside", [2], in: source)
            let synced = try await sync(direction, server) { $0.deletes = false }
            let told = synced.failures.filter { $0.contains("It stays, because old/kept cannot keep it.") }
            #expect(told.count == 3, "\(synced.failures)")
            for name in ["a", "b", "c"] { #expect(Files.link("\(target)/\(name)") == "to-\(name)") }
        }
    }

    /// The source's folder at the backup path is not sent, and the target's backup folder is not compared.
    @Test(arguments: Direction.allCases) func theFolderIsLeftOutOfBoth(direction: Direction) async throws {
        try await withServer { server in
            let (source, target) = places(direction, server)
            try write("a", [1], in: source)
            try write("old/kept/b", [2], in: source)
            try write("old/c", [3], in: source)
            let synced = try await sync(direction, server)
            #expect(synced.failures == [] && files(target) == ["a": [1], "old/c": [3]])
            try write("a", [1, 1], in: source)
            _ = try await sync(direction, server)
            #expect(files(target) == ["a": [1, 1], "old/c": [3], "old/kept/a": [1]])
            let again = try await sync(direction, server)
            #expect(again.lines == [], "\(again.lines)")
        }
    }

    @Test(arguments: ["", ".", "..", "/old", "../old", ".transfer/x"]) func aFolderElsewhereIsRefused(path: String)
        async throws
    {
        try write("a", [1])
        try await withServer { server in
            let synced = try await push(server) { $0.backupFolder = path }
            #expect(synced.failure?.reason == .rejected(.invalidPath) && synced.changes.isEmpty)
        }
    }
}
