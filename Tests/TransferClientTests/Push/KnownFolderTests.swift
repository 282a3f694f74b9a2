import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Pushes of folders that the server already has; the client compares each by one digest.
@Suite struct KnownFolderTests {
    private let sources: TemporaryDirectory

    /// Files in each folder; the last one has too few for a comparison by folder.
    private static let folders = [("a", 300), ("a/deep", 40), ("b", 9), ("c/d/e", 70), ("few", 3)]
    private static var count: Int { folders.reduce(0) { $0 + $1.1 } }

    init() throws {
        sources = try TemporaryDirectory()
        for (folder, count) in Self.folders {
            for number in 0..<count {
                try Files.write(sources.path("tree/\(folder)/f\(number)"), Self.content(folder, number))
            }
        }
    }

    /// The content is larger than the bytes that the client sends before the first answer.
    private static func content(_ folder: String, _ number: Int) -> String {
        "\(folder) \(number) " + String(repeating: "x", count: 1_000)
    }

    private func push(
        to server: RunningServer, _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Outcome {
        try await server.address.outcome([.path(sources.path("tree"))]) { configuration in
            configuration.asksByFolder = true
            configuration.lanes = .fixed(1)
            adjust(&configuration)
        }
    }

    /// Files with a report, and files of known folders.
    private func files(_ outcome: Outcome) -> Int {
        outcome.reports.count + outcome.folders.reduce(0) { $0 + $1.files }
    }

    private func withTree(_ body: (inout RunningServer) async throws -> Void) async throws {
        var server = try await RunningServer(in: TemporaryDirectory())
        do {
            let outcome = try await push(to: server)
            #expect(outcome.codes == Array(repeating: .committed, count: Self.count) && outcome.folders.isEmpty)
            try await body(&server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test(arguments: [false, true]) func anUnchangedTreeIsKnownByItsFolders(hasRestarted: Bool) async throws {
        try await withTree { server in
            if hasRestarted {
                await server.stop()
                server = try await RunningServer(in: server.directory)
            }
            let outcome = try await push(to: server)
            #expect(outcome.failure == nil && files(outcome) == Self.count)
            #expect(outcome.codes.allSatisfy { $0 == .alreadyStored })
            // The client looks up the first files one by one, until it knows that the server has some of them.
            let known = Dictionary(uniqueKeysWithValues: outcome.folders.map { ($0.storedPath, $0) })
            #expect(Set(known.keys).isSuperset(of: ["tree/b", "tree/c/d/e"]) && known["tree/few"] == nil)
            let folder = try #require(known["tree/c/d/e"])
            let bytes = (0..<70).reduce(0) { $0 + Self.content("c/d/e", $1).utf8.count }
            #expect(folder.source == sources.path("tree/c/d/e") && folder.files == 70 && folder.bytes == bytes)
            #expect(folder.isDurable)
            #expect(server.tree.count == Self.count)
        }
    }

    /// If a folder differs, each file in it has a report, and new files are sent.
    @Test(arguments: 0..<5) func whatChangedIsSent(_ change: Int) async throws {
        try await withTree { server in
            let (source, stored) = (sources.path("tree/c/d/e/f7"), server.directory.path("store/tree/c/d/e/f7"))
            switch change {
            case 0: try Files.write(source, "shorter than before")
            case 1: try Files.write(sources.path("tree/c/d/e/new"), "new")
            case 2: unlink(stored)
            case 3: truncate(stored, 1)
            default: unlink(source)
            }
            let outcome = try await push(to: server) { $0.conflict = .keepBoth }
            #expect(outcome.failure == nil)
            #expect(!outcome.folders.contains { $0.storedPath == "tree/c/d/e" })
            let sent = outcome.reports.filter { $0.result == .committed }
            #expect(sent.count == (change == 4 ? 0 : 1))
            #expect(files(outcome) == Self.count + [0, 1, 0, 0, -1][change])
            for (folder, count) in Self.folders {
                for number in 0..<count where (folder, number) != ("c/d/e", 7) {
                    #expect(server.stored("tree/\(folder)/f\(number)") == Array(Self.content(folder, number).utf8))
                }
            }
            if let report = sent.first, let path = report.storedPath {
                #expect(server.stored(path) == Files.read(report.source))
            }
        }
    }

    /// A file that was stored under another name is reported with that name, also the second time.
    @Test func aFileThatGotAnotherName() async throws {
        let server = try await RunningServer(in: TemporaryDirectory())
        try Files.write(server.directory.path("store/tree/c/d/e/f7"), "of somebody else")
        for expected in [ResultCode.committed, .alreadyStored] {
            let outcome = try await push(to: server) { $0.conflict = .keepBoth }
            #expect(outcome.failure == nil && files(outcome) == Self.count)
            #expect(!outcome.folders.contains { $0.storedPath == "tree/c/d/e" })
            let report = outcome.reports.first { $0.source == sources.path("tree/c/d/e/f7") }
            #expect(report?.storedPath == "tree/c/d/e/f7-1" && report?.result == expected)
        }
        #expect(server.stored("tree/c/d/e/f7") == Array("of somebody else".utf8))
        await server.stop()
    }

    /// If the caller wants a receipt or a report for each file, the client does not compare folders.
    @Test func whoWantsMoreAsksAboutFiles() async throws {
        try await withTree { server in
            let receipts = try await push(to: server) { $0.wantsReceipts = true }
            #expect(receipts.folders.isEmpty && receipts.reports.allSatisfy { $0.receipt != nil })
            let reports = try await push(to: server) { $0.asksByFolder = false }
            #expect(reports.folders.isEmpty && reports.codes == Array(repeating: .alreadyStored, count: Self.count))
        }
    }

    /// Files that the rules exclude are left out on both sides of the comparison.
    @Test func aSelectionOfWhatWasPushed() async throws {
        let rules = [try PathRule(.exclude, "f1*"), try PathRule(.exclude, "deep")]
        let server = try await RunningServer(in: TemporaryDirectory())
        for isFirst in [true, false] {
            let outcome = try await push(to: server) { configuration in
                configuration.selection.rules = rules
                configuration.selection.minimumSize = 4
            }
            #expect(outcome.failure == nil && outcome.folders.isEmpty == isFirst)
            #expect(server.tree.count == files(outcome) && !server.tree.contains { $0.contains("deep") })
        }
        await server.stop()
    }

    /// If the connection is lost in the middle of the answers, the client asks again.
    @Test func aLostConnection() async throws {
        try await withTree { server in
            let proxy = CuttingProxy(
                to: server.port, cuts: (1..<8).map { CuttingProxy.Cut(down: 150 * $0 * $0) })
            let outcome = try await proxy.address.outcome([.path(sources.path("tree"))]) { configuration in
                configuration.asksByFolder = true
                configuration.lanes = .fixed(1)
            }
            proxy.stop()
            #expect(outcome.failure == nil && files(outcome) == Self.count)
            #expect(Set(outcome.sources).count == outcome.sources.count)
            #expect(outcome.codes.allSatisfy { $0 == .alreadyStored } && server.tree.count == Self.count)
        }
    }
}

/// Fake servers with chosen answers.
extension KnownFolderTests {
    /// Pushes to a server that knows every file of a lookup and answers comparisons of folders by `answer`.
    private func push(
        features: Features = [.files, .folders],
        _ answer: @escaping @Sendable (CompareRequest) -> TransferProtocol.Outcome
    ) async throws -> (Outcome, asked: Int) {
        let asked = Locked(0)
        let fake = FakeServer { peer in
            Self.serve(peer, features) { compare in
                asked.withLock { $0 += 1 }
                return answer(compare)
            }
        }
        let outcome = try await fake.address.outcome([.path(sources.path("same"))]) { configuration in
            configuration.asksByFolder = true
            configuration.lanes = .fixed(1)
        }
        return (outcome, asked.withLock { $0 })
    }

    /// - Parameter answer: returns nil to end the connection.
    private static func serve(
        _ peer: FakeServer.Peer, _ features: Features = [.files, .folders],
        _ answer: (CompareRequest) -> TransferProtocol.Outcome?
    ) {
        peer.welcome(Welcome(features: features))
        while let event = peer.next() {
            guard case .message(let message) = event else { continue }
            switch message {
            case .lookup(let lookup):
                for id in lookup.ids { peer.send(.result(known(id))) }
            case .begin(let begin):
                if let end = peer.nextEnd() {
                    peer.send(.result(UploadResult(id: begin.id, code: .committed, size: end.size, digest: end.digest)))
                }
            case .compare(let compare):
                guard let answer = answer(compare) else { return }
                peer.send(.outcome(answer))
            case .goodbye: return
            default: break
            }
        }
    }

    private static func known(_ id: UploadID) -> UploadResult {
        UploadResult(
            id: id, code: .alreadyStored, size: 2_000, digest: Digest(.xxh128, [UInt8](repeating: 0, count: 16)),
            storedPath: "x")
    }

    /// Makes folders of ten files each.
    private func makeFolders(_ count: Int) throws {
        for folder in 0..<count {
            for number in 0..<10 {
                try Files.write(sources.path("same/d\(100 + folder)/f\(number)"), [UInt8](repeating: 7, count: 2_000))
            }
        }
    }

    /// A comparison whose connection was lost has no answer.
    @Test func aServerThatGoesInsteadOfAnAnswer() async throws {
        try makeFolders(40)
        let asked = Locked(0)
        let fake = FakeServer(
            { peer in
                Self.serve(peer) { _ in
                    asked.withLock { $0 += 1 }
                    return nil
                }
            }, { peer in Self.serve(peer) { .init(id: $0.id, code: .alreadyStored, count: 10) } })
        let outcome = try await fake.address.outcome([.path(sources.path("same"))]) { configuration in
            configuration.asksByFolder = true
            configuration.lanes = .fixed(1)
        }
        fake.stop()
        #expect(outcome.failure == nil && files(outcome) == 400 && asked.withLock { $0 } == 1)
        #expect(Set(outcome.sources).count == outcome.sources.count)
    }

    @Test func aServerThatKnowsNoFoldersIsNotAskedAboutAny() async throws {
        try makeFolders(30)
        let (outcome, asked) = try await push(features: .files) { .init(id: $0.id, code: .alreadyStored) }
        #expect(asked == 0 && outcome.failure == nil && outcome.reports.count == 300)
    }

    /// After any answer except one about all files of the folder, each file is looked up.
    @Test(arguments: [
        TransferProtocol.Outcome(id: 0, code: .completed, count: 10), .init(id: 0, code: .alreadyStored, count: 9),
        .init(id: 0, code: .alreadyStored, count: .max), .init(id: 0, code: .forbidden),
        .init(id: 0, code: .committed, count: 10),
    ]) func anAnswerThatSaysNothing(_ answer: TransferProtocol.Outcome) async throws {
        try makeFolders(100)
        let (outcome, asked) = try await push { compare in
            var answer = answer
            answer.id = compare.id
            return answer
        }
        #expect(outcome.folders.isEmpty && outcome.failure == nil && outcome.reports.count == 1_000)
        // After several useless answers, the client stops comparing folders for a while.
        #expect((LookupGovernor.folderPatience...2 * LookupGovernor.folderPatience).contains(asked))
    }

    @Test func anAnswerToNoQuestionIsAFault() async throws {
        try makeFolders(40)
        let (outcome, _) = try await push { .init(id: $0.id &+ 1, code: .alreadyStored, count: 10) }
        #expect(outcome.failure?.reason == .protocolFault)
    }
}

/// Walks that return the files of a folder together.
@Suite struct FolderWalkTests {
    /// Whether files are returned as folders or one by one, each is returned exactly once.
    @Test(arguments: 0..<40 as Range<UInt64>) func nothingIsLostOrComesTwice(_ seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        var random = SplitMix64(seed: seed)
        for _ in 0..<Int.random(in: 1...120, using: &random) {
            let depth = Int.random(in: 0...3, using: &random)
            let folder = (0..<depth).map { _ in "d\(Int.random(in: 0...2, using: &random))" }.joined(separator: "/")
            let name = ["f", ".hidden", "é", "x y"].randomElement(using: &random) ?? ""
            try Files.write(directory.path("t/\(folder)/\(name)\(Int.random(in: 0...40, using: &random))"), "x")
        }
        try Files.write(directory.path("t/d0/.transfer-parts"), "reserved")
        symlink("f", directory.path("t/link"))
        func item(_ found: DirectoryWalk.Found) -> String {
            switch found {
            case .file(_, let relative), .link(_, let relative): relative
            case .skipped(_, let relative, _): "skipped \(relative)"
            }
        }
        var plain: [String] = []
        var walk = DirectoryWalk(SourcePlace(try SourceRoot(directory.path("t"))), relative: "t")
        while let found = walk.next() { plain.append(item(found)) }
        var mixed: [String] = []
        walk = DirectoryWalk(SourcePlace(try SourceRoot(directory.path("t"))), relative: "t")
        while true {
            if Bool.random(using: &random), let files = walk.nextFiles(atLeast: 3, { try? RelativePath($0) }) {
                #expect(
                    files.names.count >= 3
                        && files.names.map { PathKey($0) } == files.names.map { PathKey($0) }.sorted())
                mixed += files.names.map { "\(files.relative)/\($0)" }
            } else if let found = walk.next() {
                mixed.append(item(found))
            } else {
                break
            }
        }
        #expect(mixed.sorted() == plain.sorted() && Set(mixed).count == mixed.count)
    }
}
