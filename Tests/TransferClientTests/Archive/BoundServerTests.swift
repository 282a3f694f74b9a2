import CLinux
import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// A server without root keeps its own access to stored entries; the permissions that it adds for that are not a
/// difference.
@Suite struct BoundServerTests {
    private let sample: ArchiveSample

    init() throws {
        sample = try ArchiveSample()
        for path in ["shut/a", "half/b", "f"] { try sample.write(path, [1]) }
        for (path, permissions) in [("shut", 0), ("half", 0o311), ("f", 0)] as [(String, mode_t)] {
            try Files.check(chmod("\(sample.source)/\(path)", permissions), "chmod")
        }
    }

    private func mode(_ server: RunningServer, _ path: String) -> mode_t? {
        var status = stat()
        return lstat(server.directory.path("store/copy/\(path)"), &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    private func reopen() { sample.reopen("\(sample.source)/shut", "\(sample.source)/half", "\(sample.source)/f") }

    /// Requires root, which can read sources without permissions.
    @Test(.enabled(if: geteuid() == 0)) func anArchiveComesAgain() async throws {
        defer { reopen() }
        try await withServer(disk: Disk(isRoot: false)) { server in
            let first = try await sample.push(server)
            #expect(first.failure == nil && first.reports.allSatisfy { $0.result == .committed }, "\(first.lines)")
            #expect(mode(server, "shut") == 0o700 && mode(server, "half") == 0o711 && mode(server, "f") == 0o400)
            try sample.write("shut/new", [2])
            let second = try await sample.push(server)
            #expect(second.failure == nil && second.failures == [])
            #expect(second.reports.filter { $0.result == .committed }.map(\.destination) == ["copy/shut/new"])
            let third = try await sample.push(server)
            #expect(third.reports.allSatisfy { $0.result == .alreadyStored && !$0.hasNewAttributes }, "\(third.lines)")
            let pulled = try await sample.pull(server)
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result == .committed })
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func aSyncSeesNoDifferenceForEver() async throws {
        defer { reopen() }
        try await withServer(disk: Disk(isRoot: false)) { server in
            let client = try TransferClient(server: server.address("copy"), configuration: .plain())
            let sync = { (isDryRun: Bool) in
                var options = SyncOptions()
                options.isDryRun = isDryRun
                return await Synced(client.sync(from: sample.source, options: options))
            }
            #expect(await sync(false).failures == [])
            #expect(mode(server, "shut") == 0o700 && mode(server, "f") == 0o400)
            for isDryRun in [true, false] { #expect(await sync(isDryRun).lines == []) }
            // A change of permissions that the server can store is still a difference.
            try Files.check(chmod("\(sample.source)/f", 0o040), "chmod")
            try Files.check(chmod("\(sample.source)/shut", 0o050), "chmod")
            #expect(await sync(false).lines == ["attributes f", "attributes shut"])
            #expect(mode(server, "shut") == 0o750 && mode(server, "f") == 0o440)
            #expect(await sync(true).lines == [])
        }
    }

    /// If the server may not list one folder, the content of that folder is unknown, and everything else is sent.
    @Test func aFolderThatCannotBeListedEndsNothing() async throws {
        reopen()
        let isShut = Locked(false)
        let disk = Disk(interception: { call, body in
            guard case .open(_, let name, _) = call, name == "shut" || name.hasSuffix("/shut"), isShut.withLock({ $0 })
            else { return body() }
            return -Int(EACCES)
        })
        try await withServer(disk: disk) { server in
            #expect(try await sample.push(server).failures == [])
            isShut.withLock { $0 = true }
            try sample.write("new", [2])
            let again = try await sample.push(server)
            #expect(again.failure == nil && again.lines.contains("file copy/new committed"), "\(again.lines)")
            #expect(again.failures.allSatisfy { $0.contains("/shut") } && !again.failures.isEmpty)
        }
    }

    @Test func whatIsKeptInAnyCaseIsNoDifference() {
        let bound = AttributeKeeping(owners: false, rights: .fetching(isRoot: false))
        #expect(!bound.differ((0, 0o400), isFolder: false) && !bound.differ((0o055, 0o555), isFolder: true))
        #expect(!bound.differ((0o644, 0o644), isFolder: false) && bound.differ((0o644, 0o640), isFolder: false))
        #expect(bound.differ((0o055, 0o755), isFolder: true) && bound.differ((0o400, 0), isFolder: false))
        let root = AttributeKeeping(owners: true, rights: .fetching(isRoot: true))
        #expect(root.differ((0, 0o400), isFolder: false) && !root.differ((0, 0), isFolder: true))
    }
}
