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

/// Copies of trees within one server.
@Suite struct TreeCopyTests {
    private static func copy(
        _ server: RunningServer, _ source: String = "copy", _ target: String = "again", isRecursive: Bool = true,
        replaces: Bool = false
    ) async throws -> (events: [ChangeReport], failure: TransferFailure?) {
        let client = try TransferClient(server: server.address, configuration: .plain())
        return await all(client.copyTrees([(source, target)], isRecursive: isRecursive, replaces: replaces))
    }

    private static func lines(_ reports: [ChangeReport]) -> [String] {
        reports.map { "\($0.form?.rawValue ?? "-") \($0.path) \($0.result)" }.sorted()
    }

    private func facts(_ server: RunningServer, _ folder: String) -> [String] {
        TreeFacts(server.directory.path("store/\(folder)")).lines
    }

    /// Repeated copies have all that the server keeps of the originals.
    @Test func aCopyHasAllThatIsKept() async throws {
        let sample = try ArchiveSample()
        try sample.make()
        try await withServer { server in
            defer {
                for folder in ["copy", "again"] { sample.reopen(server.directory.path("store/\(folder)/closed")) }
                sample.reopen("\(sample.source)/closed")
            }
            #expect(try await sample.push(server).failures == [])
            for _ in 1...2 {
                let (reports, failure) = try await Self.copy(server)
                #expect(failure == nil && reports.allSatisfy { $0.result == .completed && $0.isDurable }, "\(reports)")
                #expect(facts(server, "again") == facts(server, "copy"))
                let counts = Dictionary(grouping: reports, by: \.form).mapValues(\.count)
                #expect(counts == [.file: 7, .folder: 7, .link: 3, .hardLink: 2])
            }
        }
    }

    /// The mode of each folder is checked right after it was made.
    @Test func noFolderIsOpenMeanwhile() async throws {
        let open = Locked<[String]>([])
        let disk = Disk(interception: { call, body in
            let result = body()
            var status = stat()
            if case .makeDirectory(let directory, let name) = call, ["again", "d", "e"].contains(name),
                fstatat(directory, name, &status, 0) == 0, status.st_mode & 0o077 != 0
            {
                open.withLock { $0.append(name) }
            }
            return result
        })
        try await withServer(disk: disk) { server in
            for path in ["d/a", "d/e/b"] { try Files.write(server.directory.path("store/copy/\(path)"), [1]) }
            for path in ["d", "d/e", ""] {
                try Files.check(chmod(server.directory.path("store/copy/\(path)"), 0o700), "chmod")
            }
            #expect(try await Self.copy(server).events.allSatisfy { $0.result == .completed })
            #expect(open.withLock { $0 } == [])
            #expect(facts(server, "again") == facts(server, "copy"))
        }
    }

    /// If the copy under one name of a file is refused, the next name is copied, and links go to it.
    @Test func anotherNameTakesThePlaceOfTheFirst() async throws {
        try await withServer { server in
            let (source, target) = (server.directory.path("store/copy"), server.directory.path("store/again"))
            try Files.write("\(source)/a", [1])
            for name in ["b", "c"] { try Files.check(link("\(source)/a", "\(source)/\(name)"), "link") }
            let names = try await all(
                TransferClient(server: server.address, configuration: .plain()).list("copy")
            ).events.map(\.path)
            let first = try #require(names.first?.split(separator: "/").last)
            try Files.write("\(target)/\(first)", [9])
            let (reports, _) = try await Self.copy(server)
            #expect(reports.filter { $0.result == .pathConflict }.map(\.path) == ["again/\(first)"])
            #expect(reports.count == 4 && Files.read("\(target)/\(first)") == [9])
            var status = stat()
            for name in ["a", "b", "c"] where name != first {
                #expect(stat("\(target)/\(name)", &status) == 0 && status.st_nlink == 2)
            }
            #expect(try await Self.copy(server, replaces: true).events.allSatisfy { $0.result == .completed })
            #expect(stat("\(target)/\(first)", &status) == 0 && status.st_nlink == 3)
        }
    }

    /// If a folder cannot be copied, the server does not make it implicitly with default permissions, so no entry in
    /// the folder is copied.
    @Test func whatHasNoFolderIsNotCopied() async throws {
        try await withServer { server in
            let source = server.directory.path("store/copy")
            for path in ["d/a", "d/e/b", "x"] { try Files.write("\(source)/\(path)", [1]) }
            try Files.check(symlink("a", "\(source)/d/l"), "symlink")
            try Files.write(server.directory.path("store/again/d"), [9])
            let (reports, failure) = try await Self.copy(server)
            #expect(failure == nil)
            let taken = ["folder again/d", "folder again/d/e", "file again/d/a", "file again/d/e/b", "link again/d/l"]
            #expect(
                Self.lines(reports)
                    == (taken.map { "\($0) pathConflict" } + ["file again/x completed", "folder again completed"])
                    .sorted())
            #expect(server.stored("again/d") == [9])
        }
    }

    @Test func whatIsNamedIsCopiedAlone() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/d/a"), [1])
            try Files.check(symlink("/nowhere", server.directory.path("store/d/l")), "symlink")
            let alone = { (source: String) in
                Self.lines(try await Self.copy(server, source, "to/\(source)", isRecursive: false).events)
            }
            #expect(try await alone("d/a") == ["file to/d/a completed"])
            #expect(try await alone("d/l") == ["link to/d/l completed"])
            #expect(try await alone("d") == ["folder d wrongForm"])
            #expect(try await alone("x") == ["- x notFound"])
            // A copy onto itself would replace the file, and its other names would keep the old content.
            for source in ["d", "d/a"] {
                let same = try await Self.copy(server, "/\(source)/", "./\(source)", replaces: true)
                #expect(Self.lines(same.events) == ["- \(source) pathConflict"])
            }
            #expect(facts(server, "to/d").dropFirst() == facts(server, "d").dropFirst())
        }
    }

    /// The client lists the whole source before it copies anything.
    @Test func aFolderIsCopiedIntoItself() async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/d/a"), [1])
            #expect(try await Self.copy(server, "d", "d/d").events.allSatisfy { $0.result == .completed })
            #expect(server.tree.filter { !$0.hasPrefix(".transfer") } == ["d/a", "d/d/a"])
            #expect(try await Self.copy(server, "/", "top").events.allSatisfy { $0.result == .completed })
            #expect(server.stored("top/d/d/a") == [1])
        }
    }

    /// Only clients that may remove can set the permissions of a folder; the report says that they are missing.
    @Test(arguments: [
        (0o755, "The folder was created, but the permissions and times", ["e"]),
        (0o750, "It has restricted permissions", []),
    ]) func whatAFolderDoesNotGetIsSaid(_ permissions: UInt16, _ message: String, _ made: [String]) async throws {
        let version = FileVersion(high: 1, low: 1)
        let folder = ListedEntry(
            .directory, name: "d", size: 0, modified: Timestamp(seconds: 1, nanoseconds: 0), permissions: permissions,
            version: version)
        let plain = Locked<[String]>([])
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: [.files, .trees]))
            while let arrival = peer.next() {
                switch arrival {
                case .message(.list(let list)):
                    let found = list.isAboutItself && list.path == "d" ? [folder] : []
                    if !found.isEmpty { peer.send(.entries(Entries(id: list.id, found))) }
                    peer.send(.outcome(Ending(id: list.id, code: .completed, count: UInt64(found.count))))
                case .message(.make(let make)):
                    let isPlain = make.permissions == nil && make.modified == nil
                    if isPlain { plain.withLock { $0.append(make.path) } }
                    peer.send(.outcome(Ending(id: make.id, code: isPlain ? .completed : .forbidden, message: "No.")))
                default: continue
                }
            }
        }
        // The client makes six connections: for the entry, for its content, for the features of the server, two for
        // folders, and one for their times. Each has the same script.
        let fake = FakeServer(serve, serve, serve, serve, serve, serve)
        let client = try TransferClient(server: fake.address, configuration: .plain())
        let (reports, failure) = await all(client.copyTrees([("d", "e")], isRecursive: true))
        fake.stop()
        #expect(failure == nil && Self.lines(reports) == ["folder e forbidden"], "\(reports)")
        #expect(reports.first?.message.hasPrefix(message) ?? false)
        #expect(plain.withLock { $0 } == made)
    }
}
