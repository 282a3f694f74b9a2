import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Folders, links, moves and the trash, as clients request them.
    @Suite(.overEachStore) struct ChangesTests {
        private func store(_ path: String, _ content: [UInt8], _ client: RawClient) throws {
            let frames = Frames.begin(path, size: UInt64(content.count)) + Frames.stored(content) + Frames.end(content)
            guard try client.codes(to: frames) == [.committed] else {
                throw RawClient.Failure(description: "\(path) was not stored")
            }
        }

        private func names(_ client: RawClient, _ path: String = "") throws -> Set<String> {
            Set(try client.list(path).entries.map(\.name))
        }

        private func code(_ request: Request, _ client: RawClient) throws -> ResultCode {
            client.ask(request)
            return try client.outcome().code
        }

        @Test func changesAreAnsweredInTheirOrder() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try store("a", [1], client)
                client.ask(.make(MakeRequest(id: 1, .directory, path: "d", permissions: 0o700)))
                client.ask(.move(MoveRequest(id: 2, path: "a", to: "d/b")))
                client.ask(.move(MoveRequest(id: 3, path: "nothing", to: "x")))
                client.ask(.make(MakeRequest(id: 4, .symbolicLink, path: "d/l", target: Array("/etc".utf8))))
                client.ask(.remove(RemoveRequest(id: 5, path: "d/b")))
                client.ask(.make(MakeRequest(id: 6, .nothing, path: "d", permissions: 0o755)))
                var outcomes: [Outcome] = []
                for _ in 1...6 { outcomes.append(try client.outcome()) }
                #expect(outcomes.map(\.id) == [1, 2, 3, 4, 5, 6])
                #expect(
                    outcomes.map(\.code) == [.completed, .completed, .notFound, .completed, .completed, .completed])
                #expect(outcomes[0].isDurable)
                #expect(try names(client) == ["d"] && names(client, "d").isEmpty)
                client.ask(.list(ListRequest(id: 7, path: "d", wantsAll: true)))
                let all = try client.listed().entries
                #expect(all.map(\.form) == [.symbolicLink] && all.first?.extras?.target == Array("/etc".utf8))
                // The server does not follow the link.
                #expect(try client.list("d/l").outcome.code != .completed)
                #expect(try client.fetch(FetchRequest(id: 8, path: "d/l/passwd")).outcome?.code != .completed)
                #expect(
                    try client.codes(to: Frames.begin("d/l/x", size: 1) + Frames.stored([1]) + Frames.end([1]))
                        == [.invalidPath])
            }
        }

        /// A moved file keeps its digest. Its upload is stored again if it is sent again.
        @Test func aMovedFileKeepsItsDigestAndNoID() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let upload = Frames.begin("a", size: 1) + Frames.stored([1]) + Frames.end([1])
                #expect(try client.codes(to: upload) == [.committed])
                #expect(try code(.move(MoveRequest(path: "a", to: "b")), client) == .completed)
                let moved = try client.list("b", itself: true, details: true).entries
                #expect(moved.first?.digest == Frames.digest([1], .xxh128))
                #expect(try client.codes(to: upload) == [.committed])
                #expect(try names(client) == ["a", "b"])
                #expect(try code(.move(MoveRequest(path: "a", to: "b")), client) == .pathConflict)
                #expect(try code(.move(MoveRequest(path: "a", to: "b", replaces: true)), client) == .completed)
            }
        }

        /// A copy is complete, and the catalog has its digest.
        @Test func aCopyIsWholeAndKnown() async throws {
            let content = [UInt8](unsafeUninitializedCapacity: 300_000) { buffer, count in
                for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: index &* 7 ^ index >> 8) }
                count = buffer.count
            }
            try await serving { server in
                let client = try server.greetedClient()
                try store("a", content, client)
                let copy = MakeRequest(.copy, path: "d/b", target: Array("a".utf8))
                #expect(try code(.make(copy), client) == .completed)
                #expect(server.content("d/b") == content)
                let entries = try client.list("d/b", itself: true, details: true).entries
                #expect(entries.first?.digest == Frames.digest(content, .xxh128) && entries.first?.size == 300_000)
                // Copying the same content again is not a conflict. Copying other content is.
                #expect(try code(.make(copy), client) == .completed)
                try store("other", [1], client)
                let second = MakeRequest(.copy, path: "d/b", target: Array("other".utf8))
                #expect(try code(.make(second), client) == .pathConflict)
                var replacing = second
                replacing.replaces = true
                #expect(try code(.make(replacing), client) == .completed)
                #expect(server.content("d/b") == [1] && server.content("a") == content)
                for target in ["no", "d", "", "../x"] {
                    let make = MakeRequest(.copy, path: "c", target: Array(target.utf8))
                    guard !target.isEmpty else { continue }
                    #expect(try code(.make(make), client) != .completed)
                }
                #expect(try names(client) == ["a", "d", "other"])
            }
        }

        /// Changes that are requested together are answered together. A chunk of a busy server, or one with content in
        /// it, has no room for all of these answers.
        @Test(arguments: [6 << 10, 32 << 10, 512 << 10]) func answersThatWaitFitIntoTheChunk(room: Int) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let path = String(repeating: "f", count: 240)
                try store(path, [1], client)
                let worker = RequestWorker(WorkerResources(server.server.core), peer: "test")
                var requests = (1...300).map { Request.make(MakeRequest(id: $0, .directory, path: path)) }
                requests += (301...600).map { Request.remove(RemoveRequest(id: $0, path: path)) }
                var (answered, isBusy): ([UInt32], Bool) = ([], true)
                for _ in 0..<10_000 where isBusy {
                    let outcome = worker.step(requests, cancelled: [], room: room, isStopping: false)
                    requests = []
                    answered += outcome.answered
                    isBusy = outcome.isBusy
                }
                #expect(answered == Array(1...600))
            }
        }

        @Test func otherAttributesLeaveAnAcknowledgementGood() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try store("a", [1], client)
                let time = Timestamp(seconds: 1_000, nanoseconds: 1)
                let make = MakeRequest(.nothing, path: "a", permissions: 0o600, modified: time)
                #expect(try code(.make(make), client) == .completed)
                let entry = try client.list("a", itself: true, details: true).entries.first
                #expect(entry?.modified == time && entry?.permissions == 0o600 && entry?.digest != nil)
            }
        }

        @Test func whatIsRemovedToTheTrashComesBackOrGoesForGood() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                for path in ["a", "d/x", "d/y"] { try store(path, Array(path.utf8), client) }
                #expect(try code(.remove(RemoveRequest(path: "d", keepsInTrash: true)), client) == .wrongForm)
                for path in ["a", "d"] {
                    let remove = RemoveRequest(path: path, isRecursive: true, keepsInTrash: true)
                    #expect(try code(.remove(remove), client) == .completed)
                }
                #expect(try names(client).isEmpty)
                client.ask(.list(ListRequest(id: 3, path: "", trash: .top)))
                let batches = try client.listed().entries.compactMap { TrashBatch($0.name) }
                let batch = try #require(batches.first)
                #expect(batches.count == 1)
                client.ask(.list(ListRequest(id: 4, path: "d", trash: .batch(batch))))
                #expect(Set(try client.listed().entries.map(\.name)) == ["x", "y"])
                let back = MoveRequest(path: "d/x", to: "d/x", trash: .batch(batch))
                #expect(try code(.move(back), client) == .completed)
                #expect(try code(.move(back), client) == .notFound)
                #expect(try client.fetch(FetchRequest(id: 5, path: "d/x")).content == Array("d/x".utf8))
                // Discarding the path once more adds a second entry to the trash.
                try store("a", [9], client)
                #expect(try code(.remove(RemoveRequest(path: "a", keepsInTrash: true)), client) == .completed)
                let empty = RemoveRequest(path: "", isRecursive: true, trash: .batch(batch))
                #expect(try code(.remove(empty), client) == .completed)
                client.ask(.list(ListRequest(id: 6, path: "", trash: .top)))
                #expect(try client.listed().entries.count == 1)
                #expect(
                    try code(.remove(RemoveRequest(path: "", isRecursive: true, trash: .top)), client) == .wrongForm)
                #expect(try code(.move(MoveRequest(path: "", to: "z", trash: .batch(batch))), client) == .invalidPath)
            }
        }

        private func version(_ path: String, _ client: RawClient) throws -> FileVersion? {
            try client.list(path, itself: true).entries.first?.version
        }

        /// A client that acts on a list changes only the listed version, and not a file that another client has stored
        /// since.
        @Test(arguments: [false, true]) func whatHasAnotherVersionIsLeft(isStoredAnew: Bool) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try store("a", [1], client)
                let listed = try version("a", client)
                if isStoredAnew {
                    #expect(try client.remove("a").code == .completed)
                    try store("a", [2], client)
                } else {
                    #expect(server.put([2, 3], "a"))
                }
                let before = try client.list("a", itself: true, details: true).entries
                let time = Timestamp(seconds: 1_000, nanoseconds: 1)
                func changes(_ path: String) -> [Request] {
                    [
                        .make(MakeRequest(.nothing, path: path, permissions: 0o600, modified: time, version: listed)),
                        .move(MoveRequest(path: path, to: "b", version: listed)),
                        .remove(RemoveRequest(path: path, version: listed)),
                        .remove(RemoveRequest(path: path, keepsInTrash: true, version: listed)),
                    ]
                }
                for change in changes("a") { #expect(try code(change, client) == .fileChanged, "\(change)") }
                #expect(try client.list("a", itself: true, details: true).entries == before)
                #expect(try names(client) == ["a"])
                // The change is also refused for a folder or a link, which have no version.
                let link = MakeRequest(.symbolicLink, path: "l", target: [0x61])
                #expect(try code(.make(link), client) == .completed)
                for change in changes("l") { #expect(try code(change, client) == .fileChanged) }
                client.ask(.list(ListRequest(id: 9, path: "", wantsAll: true)))
                #expect(Set(try client.listed().entries.map(\.name)) == ["a", "l"])
                try store("d/x", [1], client)
                for version in [FileVersion.none, try #require(listed)] {
                    let remove = RemoveRequest(path: "d", isRecursive: true, version: version)
                    #expect(try code(.remove(remove), client) == .fileChanged)
                    let discard = RemoveRequest(path: "d", isRecursive: true, keepsInTrash: true, version: version)
                    #expect(try code(.remove(discard), client) == .fileChanged)
                    #expect(
                        try code(.move(MoveRequest(path: "d", to: "e", version: version)), client) == .fileChanged)
                }
                for change in changes("no") { #expect(try code(change, client) == .notFound) }
            }
        }

        /// New names and permissions do not change the version. A change whose answer was lost with a connection can be
        /// requested again.
        @Test func whatHasTheVersionIsChangedAlsoTwice() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try store("a", [1], client)
                let listed = try version("a", client)
                #expect(try code(.move(MoveRequest(path: "a", to: "b", version: listed)), client) == .completed)
                #expect(try version("b", client) == listed)
                let rights = MakeRequest(.nothing, path: "b", permissions: 0o600, version: listed)
                #expect(try code(.make(rights), client) == .completed)
                let time = Timestamp(seconds: 1_000, nanoseconds: 1)
                let make = MakeRequest(.nothing, path: "b", permissions: 0o640, modified: time, version: listed)
                for _ in 1...2 { #expect(try code(.make(make), client) == .completed) }
                #expect(try version("b", client) != listed)
                let entry = try client.list("b", itself: true, details: true).entries.first
                #expect(entry?.modified == time && entry?.permissions == 0o640 && entry?.digest != nil)
                #expect(try code(.make(rights), client) == .fileChanged)
                let remove = RemoveRequest(path: "b", version: try version("b", client))
                #expect(try code(.remove(remove), client) == .completed)
                #expect(try names(client).isEmpty)
            }
        }

        @Test func noPathLeadsIntoTheTrash() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                try store("a", [1], client)
                for path in [".transfer/trash/a", "../a", "", "/a"] {
                    #expect(try code(.move(MoveRequest(path: "a", to: path)), client) == .invalidPath, "\(path)")
                    #expect(try code(.move(MoveRequest(path: path, to: "b")), client) == .invalidPath, "\(path)")
                    #expect(try code(.make(MakeRequest(.directory, path: path)), client) == .invalidPath, "\(path)")
                }
                let refusal: ResultCode = server.server.core.store.abilities.linksFiles ? .invalidPath : .wrongForm
                let link = MakeRequest(.hardLink, path: "h", target: Array(".transfer/identity.pem".utf8))
                #expect(try code(.make(link), client) == refusal)
                #expect(try code(.make(MakeRequest(.hardLink, path: "h", target: [0xFF])), client) == refusal)
                #expect(try names(client) == ["a"])
            }
        }
    }
}
