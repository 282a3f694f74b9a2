import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// A private folder is private from the moment at which it is made.
@Suite struct PrivateFoldersTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private static func folder(_ path: String, _ permissions: UInt16) throws -> SyncEntry {
        SyncEntry(
            try RelativePath(path), .folder, modified: .init(seconds: 1, nanoseconds: 0), permissions: permissions,
            ExtraAttributes())
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test(arguments: [0, 0o500, 0o700] as [UInt16]) func foldersAreMadeWithNoMore(_ permissions: UInt16) async throws {
        let folders = [try Self.folder("d", permissions), try Self.folder("d/e", permissions)]
        try await withServer { server in
            let client = try TransferClient(server: server.address("copy"), configuration: .plain())
            let remote = RemoteTarget(client: client, keepsOwners: false)
            try await remote.makeTop(permissions: permissions)
            let pulled = try PullDirectory(path: here.path("in"), permissions: permissions)
            let local = LocalTarget(client: client, destination: pulled, keepsOwners: false, digests: [:])
            for target in [remote, local] as [any SyncTarget] {
                try await target.makeFolders(folders, replacing: []) { _, result, _ in #expect(result == .completed) }
            }
            for top in [server.directory.path("store/copy"), here.path("in")] {
                for path in ["", "/d", "/d/e"] { #expect(mode(top + path) == 0o700, "\(top)\(path)") }
            }
        }
    }

    /// The mode of each folder is checked right after it was made, so a gap in which others may read it would show.
    @Test func noneIsOpenMeanwhile() async throws {
        let source = here.path("source")
        for path in ["d/a", "d/e/b"] { try Files.write("\(source)/\(path)", [1]) }
        for path in ["d", "d/e", ""] { try Files.check(chmod("\(source)/\(path)", 0o700), "chmod") }
        let open = Locked<[String]>([])
        let disk = Disk(interception: { call, body in
            let result = body()
            var status = stat()
            if case .makeDirectory(let directory, let name) = call, ["copy", "archive", "d", "e"].contains(name),
                fstatat(directory, name, &status, 0) == 0, status.st_mode & 0o077 != 0
            {
                open.withLock { $0.append(name) }
            }
            return result
        })
        try await withServer(disk: disk) { server in
            let client = try TransferClient(server: server.address("copy"), configuration: .plain())
            let synced = await Synced(client.sync(from: source, options: SyncOptions()))
            #expect(synced.failures == [])
            let archived = try await Archived([.path(source, name: "archive")], to: server.address)
            #expect(archived.failures == [])
            #expect(open.withLock { $0 } == [])
        }
    }

    /// A client that may only send cannot set permissions, but still makes folders.
    @Test func whoeverMayOnlySendMakesFolders() async throws {
        let made = Locked<[String]>([])
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: [.files, .trees]))
            while let arrival = peer.next() {
                guard case .message(.make(let make)) = arrival else { continue }
                if make.permissions == nil { made.withLock { $0.append(make.path) } }
                let code: ResultCode = make.permissions == nil ? .completed : .forbidden
                peer.send(.outcome(Ending(id: make.id, code: code, count: code == .completed ? 1 : 0)))
            }
        }
        let fake = FakeServer(serve, serve)
        let client = try TransferClient(server: fake.address, configuration: .plain())
        let target = RemoteTarget(client: client, keepsOwners: false)
        let results = Locked<[ResultCode]>([])
        try await target.makeFolders([try Self.folder("d", 0o700)], replacing: []) { _, result, _ in
            results.withLock { $0.append(result) }
        }
        fake.stop()
        #expect(made.withLock { $0 } == ["d"] && results.withLock { $0 } == [.completed])
    }
}
