import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct SyncTests {
    let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    var source: String { here.path("source") }
    var back: String { here.path("back") }

    func client(_ server: RunningServer, _ folder: String = "copy") throws -> TransferClient {
        try TransferClient(server: server.address(folder), configuration: .plain())
    }

    /// Options for a target that no other client changes; `SyncChangesTests` tests shared targets.
    static let options = {
        var options = SyncOptions()
        options.conflicts = .source
        return options
    }()

    func push(_ server: RunningServer, _ change: (inout SyncOptions) -> Void = { _ in }) async throws -> Synced {
        var options = Self.options
        change(&options)
        return await Synced(try client(server).sync(from: source, options: options))
    }

    func pull(_ server: RunningServer, _ change: (inout SyncOptions) -> Void = { _ in }) async throws -> Synced {
        var options = Self.options
        change(&options)
        return await Synced(try client(server).sync(to: back, options: options))
    }

    func write(_ path: String, _ content: [UInt8], in top: String? = nil) throws {
        try Files.write("\(top ?? source)/\(path)", content)
    }

    func age(_ place: String, _ seconds: Int = 1_234_567_890) {
        var times = [timespec(tv_sec: seconds, tv_nsec: 5), timespec(tv_sec: seconds, tv_nsec: 123_456_789)]
        #expect(utimensat(AT_FDCWD, place, &times, AT_SYMLINK_NOFOLLOW) == 0)
    }

    /// Makes a tree with entries of each kind.
    func makeTree() throws {
        try write("a", [1, 2, 3])
        try write("empty", [])
        try write("d/e/f", SplitMix64.bytes(seed: 1, 70_000))
        try write("d/long", SplitMix64.bytes(seed: 2, Limits.blockSize + 77))
        try write("line\nfeed 😀/e\u{301}", [7])
        try write("line\nfeed 😀/\u{E9}", [8])
        try Files.makeDirectory("\(source)/hollow/inner")
        #expect(symlink("a", "\(source)/link") == 0)
        #expect(symlink("/nowhere/at all", "\(source)/d/dangling") == 0)
        #expect(symlink("..", "\(source)/d/loop") == 0)
        #expect(link("\(source)/a", "\(source)/d/other-name") == 0)
        #expect(link("\(source)/d/e/f", "\(source)/z") == 0)
        #expect(chmod("\(source)/a", 0o604) == 0)
        #expect(chmod("\(source)/empty", 0o777) == 0)
        #expect(chmod("\(source)/hollow", 0o750) == 0)
        let file = open("\(source)/d/long", O_RDONLY)
        #expect(clinux_fsetxattr(file, "user.origin", "camera", 6) == 0)
        close(file)
        for path in ["a", "empty", "link", "d/e/f", "d/dangling", "hollow/inner", "hollow", "d/e", "d"] {
            age("\(source)/\(path)")
        }
        age(source, 1_000_000_000)
    }
}

extension SyncTests {
    /// The top directory keeps its time, even if only entries deeper in it change and the sync makes temporary files in
    /// it.
    @Test func theDirectoryItselfKeepsItsTime() async throws {
        try makeTree()
        try await withServer { server in
            _ = try await push(server)
            _ = try await pull(server)
            #expect(chmod("\(source)/d/e/f", 0o600) == 0)
            _ = try await push(server)
            let pulled = try await pull(server)
            #expect(pulled.lines == ["attributes d/e/f"])
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
            #expect(try await pull(server).lines == [])
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
        }
    }

    @Test func allKindsOfEntriesGoThereAndBack() async throws {
        try makeTree()
        try await withServer { server in
            let first = try await push(server)
            #expect(first.failure == nil && first.failures == [])
            #expect(TreeFacts(server.directory.path("store/copy")).lines == TreeFacts(source).lines)
            let again = try await push(server) { $0.comparesContent = true }
            #expect(again.lines == [] && again.summary?.isUnchanged ?? false, "\(again.changes)")
            let second = try await pull(server)
            #expect(second.failure == nil && second.failures == [])
            #expect(TreeFacts(back).lines == TreeFacts(source).lines)
            let third = try await pull(server)
            #expect(third.lines == [] && third.summary?.isUnchanged ?? false, "\(third.changes)")
            #expect(third.summary?.unchanged == 16)
        }
    }

    @Test func onlyWhatHasChangedIsSent() async throws {
        try makeTree()
        try await withServer { server in
            _ = try await push(server)
            try write("a", [9, 9, 9, 9])
            try write("new/file", [4])
            #expect(chmod("\(source)/empty", 0o600) == 0)
            #expect(unlink("\(source)/link") == 0)
            #expect(symlink("d", "\(source)/link") == 0)
            let synced = try await push(server)
            #expect(synced.failures == [])
            let wanted = [
                "changed a", "hard-link d/other-name", "attributes empty", "folder new", "link link", "new new/file",
            ]
            #expect(Set(synced.lines).subtracting(["attributes "]) == Set(wanted))
            #expect(synced.summary?.sent == 2)
            #expect(TreeFacts(server.directory.path("store/copy")).lines == TreeFacts(source).lines)
        }
    }
}
