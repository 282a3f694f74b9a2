import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Uploads that say what they may take the place of.
    @Suite(.overEachStore) struct ReplaceableTests {
        private static func upload(
            _ content: [UInt8], _ version: FileVersion?, _ conflict: ConflictPolicy = .overwrite
        ) -> [UInt8] {
            var begin = Begin(id: .random(), path: "a", size: UInt64(content.count), conflict: conflict)
            begin.version = version
            return Frames.encoded(.begin(begin)) + Frames.stored(content) + Frames.end(content)
        }

        private static func version(_ client: RawClient) throws -> FileVersion {
            try #require(try client.list().entries.first { $0.name == "a" }).version
        }

        @Test func whatTheClientHasSeenIsReplaced() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload([1], FileVersion.none)) == [.committed])
                let seen = try Self.version(client)
                // The same content is no other one, whatever its version is.
                #expect(try client.codes(to: Self.upload([1], FileVersion.none)) == [.alreadyStored])
                #expect(try client.codes(to: Self.upload([2], FileVersion.none)) == [.pathConflict])
                #expect(try client.codes(to: Self.upload([2], seen)) == [.committed])
                #expect(try client.codes(to: Self.upload([3], seen)) == [.pathConflict])
                #expect(try client.codes(to: Self.upload([2], seen)) == [.alreadyStored])
                #expect(server.content("a") == [2])
                // It says nothing to other policies.
                #expect(try client.codes(to: Self.upload([4], seen, .keepBoth)) == [.committed])
                // What is free is taken.
                client.ask(.remove(RemoveRequest(id: 7, path: "a")))
                _ = try client.listed()
                #expect(try client.codes(to: Self.upload([5], seen)) == [.committed])
                #expect(server.content("a") == [5])
            }
        }

        /// Content that cannot be published need not come.
        @Test func aLongOneIsRefusedBeforeItsContent() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                #expect(try client.codes(to: Self.upload([1], nil)) == [.committed])
                let seen = try Self.version(client)
                var begin = Begin(id: .random(), path: "a", size: 1 << 24, conflict: .overwrite, expectsAccept: true)
                begin.version = FileVersion.none
                #expect(try client.codes(to: Frames.encoded(.begin(begin))) == [.pathConflict])
                let other = try server.greetedClient()
                begin.version = seen
                other.send(Frames.encoded(.begin(begin)))
                try other.expectAccept()
            }
        }
    }
}
