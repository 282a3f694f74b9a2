import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferPorts
import TransferStore
import TransferTestSupport

extension ServerTests {
    /// Clients withdraw uploads in parts.
    @Suite(.overEachStore) struct WithdrawalTests {
        private static let content = SplitMix64.bytes(seed: 51, 2 * Limits.blockSize + 5)
        private static let front = 0..<Limits.blockSize

        private let upload = PartedUpload("big", content)

        @Test func thePartAndItsSpaceAreFree() async throws {
            try await serving({ $0.space.quota = UInt64(Self.content.count) }) { [upload] server in
                let client = try server.greetedClient()
                let other = PartedUpload("other", Self.content)
                #expect(
                    try client.codes(2, to: upload.inOnePart + other.part(Self.front)) == [.staged, .quotaExceeded])
                #expect(try client.codes(to: upload.withdrawal) == [.aborted])
                #expect(server.parts.isEmpty)
                #expect(try client.codes(2, to: other.inOnePart + other.multipart) == [.staged, .committed])
                #expect(server.tree == ["other"])
            }
        }

        /// This server knows only the file of the upload.
        @Test func whatAnEarlierServerHas() async throws {
            let directory = try TemporaryDirectory()
            let quota = UInt64(Self.content.count)
            try await serving({ $0.space.quota = quota }, in: directory) { [upload] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.part(Self.front)) == [.staged])
            }
            try await serving({ $0.space.quota = quota }, in: directory) { [upload] server in
                #expect(server.parts == ["\(upload.id).part"])
                let client = try server.greetedClient()
                for _ in 0..<2 { #expect(try client.codes(to: upload.withdrawal) == [.aborted]) }
                #expect(server.parts.isEmpty)
                let other = PartedUpload("other", Self.content)
                #expect(try client.codes(2, to: other.inOnePart + other.multipart) == [.staged, .committed])
            }
        }

        /// The lanes of a push are one client: bytes that another lane still sends no longer count.
        @Test func everyLaneOfAPushMayTakeItBack() async throws {
            try await serving { [upload] server in
                let older = try server.greetedClient(run: 7)
                let newer = try server.greetedClient(run: 7)
                let part = upload.inOnePart
                newer.send(Array(part[..<100_000]))
                try server.waitUntil("the part is there") { !server.parts.isEmpty }
                #expect(try older.codes(to: upload.withdrawal) == [.aborted])
                #expect(server.parts.isEmpty)
                #expect(try newer.codes(to: Array(part[100_000...])) == [.incomplete])
                #expect(server.parts.isEmpty)
                // The server accepts the upload again.
                #expect(try older.codes(2, to: upload.inOnePart + upload.multipart) == [.staged, .committed])
            }
        }

        /// An older connection cannot withdraw an upload that a newer push works on. The older connection may be dead.
        @Test(.oneServer, arguments: [nil, 8] as [UInt64?]) func notWhileANewerPushHasIt(_ run: UInt64?) async throws {
            try await serving { [upload] server in
                let older = try server.greetedClient(run: run)
                let newer = try server.greetedClient(run: run.map { $0 + 1 })
                #expect(try older.codes(to: upload.part(Self.front)) == [.staged])
                newer.send(upload.question)
                while case .have = try newer.answer() {}
                #expect(try older.codes(to: upload.withdrawal) == [.incomplete])
                let rest = upload.part(Self.front.upperBound..<Self.content.count)
                #expect(try newer.codes(to: rest) == [.staged])
                #expect(try older.codes(to: upload.withdrawal) == [.incomplete])
                #expect(try newer.codes(to: upload.multipart) == [.committed])
                // An acknowledged upload stays.
                #expect(try newer.codes(to: upload.withdrawal).allSatisfy { $0 != .committed })
                #expect(server.content("big") == Self.content)
            }
        }

        @Test func aNewerConnectionTakesBackWhatAnOlderOneHas() async throws {
            try await serving { [upload] server in
                let older = try server.greetedClient(run: 1)
                older.send(Array(upload.inOnePart[..<100_000]))
                try server.waitUntil("the part is there") { !server.parts.isEmpty }
                let newer = try server.greetedClient(run: 2)
                #expect(try newer.codes(to: upload.withdrawal) == [.aborted])
                #expect(server.parts.isEmpty)
            }
        }

        /// Withdrawing a part leaves the other parts of the upload.
        @Test func aPartThatIsTakenBackLeavesTheOthers() async throws {
            try await serving { [upload] server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.part(Self.front)) == [.staged])
                let range = Self.front.upperBound..<Self.content.count
                var begin = Begin(id: .random(), path: upload.path, size: UInt64(range.count), digest: upload.function)
                begin.scope = .part(
                    .init(of: upload.id, offset: UInt64(range.lowerBound), total: UInt64(Self.content.count)))
                let frames = Frames.encoded(.begin(begin)) + Frames.stored(Array(Self.content[range].prefix(5000)))
                #expect(try client.codes(to: frames + Frames.encoded(.abort)) == [.aborted])
                #expect(try client.codes(2, to: upload.part(range) + upload.multipart) == [.staged, .committed])
            }
        }
    }
}
