import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

/// If the rules select nothing in a folder, a pull of an archive leaves an entry with that folder's name alone, and
/// restores the mode of folders that it opened.
@Suite struct UnwantedFoldersTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    /// Selections that match nothing in folder `y` of `d`, which has one file.
    enum Wanting: CaseIterable, Sendable {
        case small, otherNames, noneOfThem, aPattern

        /// The path of that folder in the target.
        var place: String { self == .aPattern ? "y" : "d/y" }

        var download: Download {
            self == .aPattern ? Download("d/*/*.zip", isPattern: true) : Download("d")
        }

        func choose(_ selection: inout Selection) throws {
            switch self {
            case .small: selection.maximumSize = 1
            case .otherNames: selection.rules = [try PathRule(.include, "*.zip")]
            case .noneOfThem: selection.rules = [try PathRule(.exclude, "*.c")]
            case .aPattern: break
            }
        }
    }

    private static let policies: [ConflictPolicy] = [.overwrite, .keepBoth, .skip, .fail]

    private func pull(
        _ wanting: Wanting, _ conflict: ConflictPolicy, from server: RunningServer, isPreview: Bool = false
    ) async throws -> Pulled {
        var selection = Selection()
        try wanting.choose(&selection)
        return try await Pulled([wanting.download], from: server.address, to: out, isPreview: isPreview) {
            ($0.archives, $0.conflict, $0.selection) = (true, conflict, selection)
        }
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test(arguments: Wanting.allCases, policies)
    func aFileStays(_ wanting: Wanting, _ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/d/y/c.c"), [1, 2])
            try Files.write("\(out)/\(wanting.place)", [7])
            for isPreview in [true, false] {
                _ = try await pull(wanting, conflict, from: server, isPreview: isPreview)
                #expect(Files.read("\(out)/\(wanting.place)") == [7])
            }
        }
    }

    @Test(arguments: Wanting.allCases) func aLinkStays(_ wanting: Wanting) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/d/y/c.c"), [1, 2])
            try Files.makeDirectory("\(out)/d")
            try Files.check(symlink("nowhere", "\(out)/\(wanting.place)"), "symlink")
            _ = try await pull(wanting, .overwrite, from: server)
            #expect(mode("\(out)/\(wanting.place)") == 0o777)
        }
    }

    @Test(arguments: Wanting.allCases, policies)
    func aClosedFolderStaysClosed(_ wanting: Wanting, _ conflict: ConflictPolicy) async throws {
        try await withServer { server in
            try Files.write(server.directory.path("store/d/y/c.c"), [1, 2])
            let folder = "\(out)/\(wanting.place)"
            try Files.makeDirectory(folder)
            try Files.check(chmod(folder, 0o500), "chmod")
            defer { chmod(folder, 0o700) }
            _ = try await pull(wanting, conflict, from: server)
            #expect(mode(folder) == 0o500)
        }
    }

    /// The server refuses to list the folder, so the client cannot know whether the rules select something in it.
    @Test func whatStandsForAFolderThatCannotBeListedStays() async throws {
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: [.files, .trees]))
            while let arrival = peer.next() {
                guard case .message(.list(let list)) = arrival else { continue }
                let folder = ListedEntry(
                    .directory, name: list.path == "d" ? "y" : "d", size: 0,
                    modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o700,
                    extras: .init(attributes: ExtraAttributes()))
                guard list.path != "d/y" else {
                    peer.send(.outcome(Ending(id: list.id, code: .forbidden, count: 0)))
                    continue
                }
                peer.send(
                    .entries(Entries(id: list.id, [folder])),
                    .outcome(Ending(id: list.id, code: .completed, count: 1)))
            }
        }
        let server = FakeServer(serve, serve)
        try Files.write("\(out)/d/y", [7])
        let pulled = try await Pulled(["d"], from: server.address, to: out) {
            ($0.archives, $0.conflict, $0.retryFor) = (true, .overwrite, 0)
        }
        server.stop()
        #expect(pulled.results["d/y"] == .forbidden, "\(pulled.reports)")
        #expect(Files.read("\(out)/d/y") == [7])
    }

    /// A wanted folder replaces an entry that has the same name, and every folder gets the mode from the server.
    @Test(arguments: [false, true]) func aWantedFolderTakesThePlace(hasContent: Bool) async throws {
        try await withServer { server in
            let store = server.directory.path("store")
            if hasContent { try Files.write("\(store)/d/y/z/c.c", [1, 2]) }
            try Files.makeDirectory("\(store)/d/y/z")
            try Files.check(chmod("\(store)/d/y/z", 0o555), "chmod")
            try Files.write("\(out)/d/y", [7])
            let pulled = try await Pulled(["d"], from: server.address, to: out) {
                ($0.archives, $0.conflict) = (true, .overwrite)
            }
            #expect(pulled.failure == nil && pulled.reports.allSatisfy { $0.result == .committed || $0.source == "d" })
            #expect(entries(below: "\(out)/d") == ["y/", "y/z/"] + (hasContent ? ["y/z/c.c"] : []))
            #expect(mode("\(out)/d/y/z") == 0o555)
            for top in [store, out] { chmod("\(top)/d/y/z", 0o755) }
        }
    }

    /// The pull ends before the step that links further names of a file.
    @Test func whatWasOpenedIsClosedAfterAnEarlyEnd() async throws {
        try await withServer { server in
            let (there, folder) = (server.directory.path("store/d"), "\(out)/d")
            for place in [there, folder] { try Files.write("\(place)/a", place == there ? [1] : [2]) }
            try Files.check(link("\(there)/a", "\(there)/b"), "link")
            try Files.write("\(folder)/b", [3])
            try Files.write("\(there)/z/long", SplitMix64.bytes(seed: 1, 3 << 20))
            for (place, mode) in [(there, 0o555), (folder, 0o500)] as [(String, mode_t)] {
                try Files.check(chmod(place, mode), "chmod")
            }
            defer { for place in [there, folder] { chmod(place, 0o755) } }
            let proxy = CuttingProxy(to: server.port, cuts: (0..<40).map { _ in .init(down: 100_000) })
            let pulled = try await Pulled(["d"], from: proxy.address, to: out) {
                ($0.archives, $0.conflict, $0.retryFor) = (true, .skip, 0)
            }
            proxy.stop()
            #expect(pulled.failure != nil)
            #expect(mode(folder) == 0o555)
        }
    }

    /// The server lists more folders, links, names of files or attributes than the client holds in memory.
    @Test(arguments: [ListedEntry.Form.directory, .symbolicLink, .file]) func moreThanIsHeld(
        _ form: ListedEntry.Form
    ) async throws {
        // A listing of one folder fits into memory, and all of them together do not.
        let folders = (0..<6).map { number in
            ListedEntry(
                .directory, name: "\(number)", size: 0, modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o700,
                extras: .init(attributes: ExtraAttributes()))
        }
        let entries = (0..<60).map { number in
            ListedEntry(
                form, name: "\(number)", size: 0, modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o700,
                version: form == .file ? FileVersion(high: 1, low: 2) : .none,
                extras: .init(
                    names: form == .file ? 2 : 1, attributes: ExtraAttributes(),
                    target: form == .symbolicLink ? [UInt8](repeating: 65, count: 1000) : []))
        }
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: [.files, .trees]))
            while let arrival = peer.next() {
                if case .message(.fetch(let fetch)) = arrival {
                    peer.send(.outcome(Ending(id: fetch.id, code: .notFound)))
                }
                guard case .message(.list(let list)) = arrival else { continue }
                let top = ListedEntry(
                    .directory, name: "t", size: 0, modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o700,
                    extras: .init(attributes: ExtraAttributes()))
                let depth = list.path.split(separator: "/").count
                let found = list.isAboutItself ? [top] : depth == 1 ? folders : depth == 2 ? entries : []
                for entry in found { peer.send(.entries(Entries(id: list.id, [entry]))) }
                peer.send(.outcome(Ending(id: list.id, code: .completed, count: UInt64(found.count))))
            }
        }
        let server = FakeServer(serve, serve)
        let pulled = try await Pulled(["t"], from: server.address, to: out) {
            ($0.archives, $0.retryFor, $0.listMemory) = (true, 0, 100_000)
        }
        server.stop()
        #expect(pulled.reports.contains { $0.result == .incomplete }, "\(pulled.reports.prefix(3))")
    }
}
