import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferServer

extension ServerTests {
    /// Early answers before the content is sent, and names that are taken.
    @Suite(.overEachStore) struct ConflictTests {
        @Test func skipAndFailAreAnsweredEarly() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(Frames.upload("x", [1]))
                #expect(try client.result().code == .committed)
                client.send(Frames.begin("x", size: 500, conflict: .skip))
                #expect(try client.result().code == .skipped)
                // A store for which a look is expensive looks at the path of a long upload only.
                let size = UInt64(4 * Limits.blockSize)
                client.send(
                    Frames.encoded(.abort) + Frames.begin("x", size: size, conflict: .fail, expectsAccept: true))
                #expect(try client.result().code == .pathConflict)
                client.send(.abort)
                client.send(Frames.upload("x", [1], conflict: .fail))
                #expect(try client.result().code == .alreadyStored)
                client.send(Frames.upload("x", [2], conflict: .fail))
                #expect(try client.result().code == .pathConflict)
                #expect(server.tree == ["x"])
            }
        }

        @Test func overwriteReplacesFilesButNotDirectories() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(Frames.upload("x", [1]) + Frames.upload("d/y", [1]))
                for _ in 0..<2 { #expect(try client.result().code == .committed) }
                client.send(Frames.upload("x", [2, 3], conflict: .overwrite))
                let result = try client.result()
                #expect(result.code == .committed)
                #expect(result.storedPath == nil)
                #expect(server.content("x") == [2, 3])
                client.send(Frames.upload("d", [2, 3], conflict: .overwrite))
                #expect(try client.result().code == .pathConflict)
                #expect(server.tree == ["d", "d/y", "x"])
                #expect(server.parts.isEmpty)
            }
        }

        /// The replaced content is gone, and the client learns of that.
        @Test func whatReplacesOtherContentSaysSo() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                for (content, policy, isTold) in [
                    ([1], ConflictPolicy.overwrite, false), ([1], .overwrite, false), ([2], .overwrite, true),
                    ([3], .keepBoth, false), ([2], .fail, false), ([1], .overwrite, true),
                ] as [([UInt8], ConflictPolicy, Bool)] {
                    client.send(Frames.upload("x", content, conflict: policy))
                    let result = try client.result()
                    #expect(result.isAcknowledgement && result.hasReplaced == isTold, "\(content) \(policy)")
                }
                #expect(server.tree == ["x", "x-1"])
            }
        }

        /// A client has died, and its command runs again. Uploads of the dead client are stored before the
        /// acknowledgements of the new one, or not at all. Each server knows this of its own connections.
        @Test(.oneServer) func whatADeadClientHasSentReplacesNothingNewer() async throws {
            try await serving { server in
                let older = try server.greetedClient(run: 1)
                let names = (0..<4000).map { "d/\($0)" }
                older.send(names.flatMap { Frames.upload($0, [1], conflict: .overwrite) })
                older.endSending()
                let newer = try server.greetedClient(run: 2)
                newer.send(names.suffix(50).flatMap { Frames.upload($0, [2, 2], conflict: .overwrite) })
                for _ in 0..<50 { #expect(try newer.result().code == .committed) }
                try older.waitForClose()
                for name in names.suffix(50) { #expect(server.content(name) == [2, 2], "\(name)") }
                #expect(server.tree.count == 4001)
            }
        }

        @Test func acceptComesBeforeTheContentOnly() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let content = [UInt8](repeating: 1, count: 1000)
                client.send(Frames.begin("y", size: 1000, expectsAccept: true))
                try client.expectAccept()
                client.send(Frames.data(content) + Frames.end(content))
                #expect(try client.result().code == .committed)
            }
        }

        @Test func theLargestUploadIsTheOperatorsChoice() async throws {
            try await serving({ $0.maximumUpload = 1000 }) { server in
                let client = try server.client()
                client.send(Frames.hello)
                guard case .message(.welcome(let welcome)) = try client.next() else {
                    throw RawClient.Failure(description: "no welcome")
                }
                #expect(welcome.uploadSize == 1000)
                let content = [UInt8](repeating: 1, count: 1001)
                client.send(Frames.begin("y", size: 1001, expectsAccept: true))
                #expect(try client.result().code == .uploadTooLarge)
                client.send(.abort)
                client.send(Frames.begin("y", size: 1001) + Frames.data(content) + Frames.end(content))
                #expect(try client.result().code == .uploadTooLarge)
                // The upload is refused as soon as it is too large, since it may have no end.
                client.send(Frames.begin("z", size: nil) + Frames.data(content))
                #expect(try client.result().code == .uploadTooLarge)
                client.send(Frames.end(content))
                client.send(Frames.upload("z", Array(content.dropLast())))
                #expect(try client.result().code == .committed)
                #expect(server.tree == ["z"])
            }
        }
    }
}
