import Glibc
import Synchronization
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

extension ServerTests {
    /// Another program puts a symbolic link in the place of an upload and removes it again, as fast as the system
    /// allows. The server of these tests is not confined: the resolver alone keeps it inside its directory.
    @Suite(.directoryOnly) struct SymlinkRaceTests {
        private static let count = AttackScale.count(1000, full: 10_000)

        /// Objects that change places, and the paths of the uploads.
        enum Race: CaseIterable, Sendable {
            /// A directory, and a link to one outside.
            case folder
            /// A directory further up, and a link to one outside.
            case parent
            /// The file itself, and a link to a file outside, which must not be written.
            case file

            var name: String { self == .file ? "target/file" : "target" }

            func path(_ number: Int) -> String {
                switch self {
                case .folder: "target/\(number)"
                case .parent: "target/below/\(number % 50)/\(number)"
                case .file: "target/file"
                }
            }
        }

        @Test(arguments: Race.allCases) func nothingLeadsOutside(race: Race) async throws {
            let outside = try TemporaryDirectory()
            try Self.prepare(outside)
            try await serving { server in
                let store = server.directory.path("store")
                let (one, other) = ("\(store)/\(race.name)", "\(store)/.transfer/link")
                try #require(mkdir("\(store)/target", 0o755) == 0)
                try Self.place(race, at: one, link: other, to: outside)
                let rounds = Box(Atomic(0))
                let isOver = Box(Atomic(false))
                let racer = TestThread {
                    while !isOver.value.load(ordering: .relaxed) {
                        if exchangeNames(one, other) { rounds.value.wrappingAdd(1, ordering: .relaxed) }
                    }
                }
                let results = Result { try Self.push(race, to: server) }
                isOver.value.store(true, ordering: .relaxed)
                racer.join()
                let codes = try results.get()
                #expect(
                    codes.keys.allSatisfy { [.committed, .invalidPath, .pathConflict, .alreadyStored].contains($0) })
                #expect(rounds.value.load(ordering: .relaxed) > Self.count / 10, "the race took place")
                print("\(race): \(codes), \(rounds.value.load(ordering: .relaxed)) changes of place")
                try server.checkServes()
            }
            #expect(names(in: outside.path).sorted() == ["file", "folder"])
            #expect(names(in: outside.path("folder")).isEmpty)
            #expect(TestServer.read(outside.path("file")) == Array("untouched".utf8))
        }

        private static func prepare(_ outside: TemporaryDirectory) throws {
            try #require(mkdir(outside.path("folder"), 0o755) == 0)
            let file = open(outside.path("file"), O_WRONLY | O_CREAT, 0o644)
            defer { close(file) }
            try #require(write(file, "untouched", 9) == 9)
        }

        private static func place(
            _ race: Race, at path: String, link: String, to outside: TemporaryDirectory
        ) throws {
            let isFile = race == .file
            try #require(symlink(outside.path(isFile ? "file" : "folder"), link) == 0)
            guard isFile else { return }
            let file = open(path, O_WRONLY | O_CREAT, 0o644)
            try #require(file >= 0)
            close(file)
        }

        /// Sends uploads over one connection, some at a time, until at least one is stored: on a busy machine nearly
        /// all meet the link.
        private static func push(_ race: Race, to server: TestServer) throws -> [ResultCode: Int] {
            let client = try server.greetedClient()
            var codes: [ResultCode: Int] = [:]
            let step = 10
            var start = 0
            while start < count || codes[.committed] == nil {
                defer { start += step }
                for number in start..<start + step {
                    let content = Array("content \(number)".utf8)
                    client.send(Frames.upload(race.path(number), content, conflict: .overwrite))
                }
                for _ in 0..<step { codes[try client.result().code, default: 0] += 1 }
            }
            return codes
        }
    }
}
